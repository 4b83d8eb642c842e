/* For Emscripten, and for clang with WASI: arguments, clock, output, exit status. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Neither inlined nor made a loop: with volatile, each call is one. */
__attribute__((noinline, export_name("fib"))) int fib(int n)
{
    volatile int sum = n;
    if (n >= 2) {
        sum = fib(n - 1);
        sum += fib(n - 2);
    }
    return sum;
}

int main(int count, char **words)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%d %d\n", fib(count > 1 ? atoi(words[1]) : 10), now.tv_sec > 1000000);
    return 3;
}
