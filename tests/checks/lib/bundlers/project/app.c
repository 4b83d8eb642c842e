/*
 * The Emscripten project: how long the Collatz sequences of the first numbers are.
 */
#include <emscripten.h>
#include <stdio.h>

static int steps(unsigned n) {
    int count = 0;
    for (; n > 1; n = n % 2 ? 3 * n + 1 : n / 2)
        count++;
    return count;
}

EMSCRIPTEN_KEEPALIVE int work(int n) {
    int sum = 0;
    for (int i = 1; i <= n; i++)
        sum += steps((unsigned)i);
    printf("%d steps\n", sum);
    return sum;
}
