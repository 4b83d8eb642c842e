/* app.c - a program with a hot line, and one that is not executed; its argument is how long it runs. */
#include <stdio.h>
#include <stdlib.h>
static unsigned mix(unsigned n) { unsigned s = n; for (int i = 0; i < 20000; i++) { s = s * 1103515245u + 12345u; } return s; }
static unsigned slow(int n) {
  unsigned s = 0;
  for (int i = 0; i < n; i++)
    s += mix(s);
  return s;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  if (n < 0) {
    printf("negative\n");
    return 1;
  }
  printf("%u\n", slow(n * 10));
  return 0;
}
