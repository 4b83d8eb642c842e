/*
 * tests/fuzz/fuzz_report.c - fuzz target: the reader of reports and the tables made from what it
 * reads. The first two bytes choose the report and the table's options.
 */
#include "report/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2)
        return 0;
    Report r = {0};
    Buf out = {0};
    TableOptions options = {
        .top = data[0] >> 4, .width = data[1], .colour = data[0] & 1, .ascii = data[0] & 2};
    report_read(&r, (Str){(const char *)data + 2, (uint32_t)(size - 2)}, data[0] >> 2 & 3);
    table_print(&r, &options, &out);
    buf_free(&out);
    report_free(&r);
    return 0;
}
