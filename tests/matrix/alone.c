/* Without a library: imports nothing. */
__attribute__((noinline, export_name("fib"))) int fib(int n)
{
    volatile int sum = n;
    if (n >= 2) {
        sum = fib(n - 1);
        sum += fib(n - 2);
    }
    return sum;
}
