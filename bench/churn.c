/* Allocates and frees continuously: the worst case for heap profiles. usage: churn ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 5000 };

typedef struct Item {
    struct Item *next;
    char name[20];
} Item;

static Item *make(unsigned n) {
    Item *i = malloc(sizeof *i);
    snprintf(i->name, sizeof i->name, "item %u", n);
    i->next = NULL;
    return i;
}

static void drop(Item *i) {
    while (i) {
        Item *next = i->next;
        free(i);
        i = next;
    }
}

int main(int argc, char **argv) {
    static Item *slots[SLOTS];
    unsigned state = 1, rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 300000;
    size_t sum = 0;
    for (unsigned i = 0; i < rounds; i++) {
        state = state * 1103515245 + 12345;
        Item **slot = &slots[(state >> 8) % SLOTS];
        if (state >> 28 < 3) {
            drop(*slot);
            *slot = NULL;
        } else {
            Item *item = make(i);
            item->next = *slot;
            *slot = item;
            sum += strlen(item->name);
        }
    }
    printf("%zu\n", sum);
    return 0;
}
