/*
 * A loop of loads for bench/maps. By hand, it does what scripts do at each of them: with -DCACHE,
 * it calls the library of examples/libs/cache.c; with -DDISTANCE, it adds up how far apart accesses
 * are; with -DARRAY, it counts in an array of 32 numbers, with -DPOWERS by powers of two.
 */
enum { SIZE = 1 << 16, ROUNDS = 60, STRIDE = 5 };

static volatile double data[SIZE];
volatile double sum;
volatile int missed;
volatile long long counts[32];

#ifdef CACHE
__attribute__((noinline)) int check_access(int address, int size);
#elif defined DISTANCE
int distance(int address);
#endif

__attribute__((export_name("_start"))) void start(void) {
    double all = 0;
    int misses = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SIZE; i++) {
            int at = i * STRIDE & (SIZE - 1);
#ifdef CACHE
            misses += check_access((int)&data[at], 8);
#elif defined DISTANCE
            misses += distance((int)&data[at]);
#elif defined ARRAY
            counts[(unsigned)&data[at] >> 3 & 31]++;
#elif defined POWERS
            counts[31 - __builtin_clz((unsigned)&data[at] | 1)]++;
#endif
            all += data[at];
        }
    }
    sum = all;
    missed = misses;
}
