/* pthreads of Emscripten, which ends them by terminate(): `kernel` is called 8 * 10 + 5 times. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) int kernel(int x) {
    __asm__ volatile("" : : "r"(x));
    return x * 31 + 7;
}

static void *work(void *arg) {
    int sum = 0;
    (void)arg;
    for (int i = 0; i < 10; i++)
        sum ^= kernel(i);
    return (void *)(long)sum;
}

int main(int argc, char **argv) {
    pthread_t threads[8];
    int sum = 0;
    (void)argv;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 8; i++) {
        void *part;
        pthread_join(threads[i], &part);
        sum ^= (int)(long)part;
    }
    for (int i = 0; i < 5; i++)
        sum ^= kernel(i);
    printf("%d\n", sum);
    if (argc > 1)
        exit(3);
    return 0;
}
