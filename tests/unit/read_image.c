/*
 * tests/unit/read_image.c - for tests: reads the image of a report and its values, which a host of
 * its own has collected, and prints the report in JSON.
 *
 *     read_image IMAGE VALUES
 */
#include "file.h"
#include "whammc/report.h"

int main(int argc, char **argv) {
    Buf image = {0}, values = {0};
    uint8_t *out = NULL;
    size_t size;
    if (argc != 3 || !read_file(argv[1], &image) || !read_file(argv[2], &values))
        return 2;
    WhammcReport *r = whammc_report_new();
    whammc_status status =
        whammc_report_read_image(r, argv[1], image.data, image.len, values.data, values.len);
    if (status == WHAMMC_OK)
        status = whammc_report_write(r, WHAMMC_REPORT_JSON, NULL, &out, &size);
    fputs(whammc_report_messages(r, 0), stderr);
    if (out)
        fwrite(out, 1, size, stdout);
    whammc_release(out);
    whammc_report_free(r);
    buf_free(&image);
    buf_free(&values);
    return status == WHAMMC_OK ? 0 : 1;
}
