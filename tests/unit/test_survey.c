/*
 * tests/unit/test_survey.c - the order of the functions of a program, by which a walk along calls
 * notices that it may go round.
 */
#include "wasm_fixture.h"

#include "analysis/survey.h"

/* Four functions without parameters: 0 calls 1 and 2, 1 calls 3, 2 calls 1 and 0, 3 calls itself.
 */
static void test_order(void **unused) {
    (void)unused;
    static const uint8_t calls[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 1}, {2, 0}, {3, 3}};
    static const bool closes[] = {false, false, false, false, true, true};
    Buf b = header();
    section(&b, 1, "01 60 00 00");
    section(&b, 3, "04 00 00 00 00");
    section(&b, 10, "04 06 00 10 01 10 02 0b 04 00 10 03 0b 06 00 10 01 10 00 0b 04 00 10 03 0b");
    Fixture f;
    load(&f, b);
    WasmSurvey survey = {0};
    uint32_t *order = wasm_survey_order(&survey, &f.m);
    for (size_t i = 0; i < sizeof closes; i++)
        assert_int_equal(order[calls[i][1]] >= order[calls[i][0]], closes[i]);
    free(order);
    wasm_survey_free(&survey);
    unload(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
