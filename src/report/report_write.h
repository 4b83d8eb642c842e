/*
 * report/report_write.h - writes rows as a report.
 */
#ifndef WHAMMC_REPORT_REPORT_WRITE_H
#define WHAMMC_REPORT_REPORT_WRITE_H

#include "report/report_read.h"

typedef enum WriteForm { WRITE_CSV, WRITE_JSON, WRITE_CSV_RFC4180 } WriteForm;

/*
 * Appends the report as a program prints it into a file. Tuples and maps must be JSON
 * (value_unify); values that are not of their type are written as strings. `lines`: with the
 * columns of locations, after the others. If the rows have modules, these are the last column.
 */
void write_report(const Report *r, WriteForm form, bool lines, Buf *out);

#endif
