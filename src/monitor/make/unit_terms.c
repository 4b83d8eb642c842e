/*
 * monitor/make/unit_terms.c - sets of assignments as short sums of products.
 *
 * A cube is a product of atoms or their negations: the assignments that agree with it. All cubes of
 * n atoms are numbered in base 3, one digit an atom: 0 = false, 1 = true, 2 = either. A cube with a
 * 2 holds if the two with 0 and 1 in its place do, so one pass from small numbers to large (3^8 =
 * 6561) finds all cubes that hold. Cubes that are part of no larger one are the prime implicants;
 * the ones that cover most are taken until all is covered.
 */
#include "monitor/make/unit.h"

#include <assert.h>

enum { CUBES = 6561 };

typedef struct Terms {
    uint32_t n, ncubes;
    uint32_t power[UNIT_ATOMS + 1]; /* of 3 */
    bool holds[CUBES];
    uint8_t mask[CUBES], bits[CUBES];
} Terms;

static bool unit_terms_has(const uint64_t set[4], uint32_t a) {
    return set[a >> 6] >> (a & 63) & 1;
}

static uint32_t digit(const Terms *t, uint32_t cube, uint32_t k) {
    return cube / t->power[k] % 3;
}

static void find_cubes(Terms *t, const uint64_t when[4], const uint64_t any[4]) {
    for (uint32_t c = 0; c < t->ncubes; c++) {
        uint32_t wide = UNIT_ATOMS;
        t->mask[c] = t->bits[c] = 0;
        for (uint32_t k = 0; k < t->n; k++) {
            uint32_t d = digit(t, c, k);
            if (d == 2) {
                wide = k;
                continue;
            }
            t->mask[c] |= (uint8_t)(1u << k);
            t->bits[c] |= (uint8_t)(d << k);
        }
        if (wide == UNIT_ATOMS)
            t->holds[c] = unit_terms_has(when, t->bits[c]) || unit_terms_has(any, t->bits[c]);
        else
            t->holds[c] = t->holds[c - t->power[wide]] && t->holds[c - 2 * t->power[wide]];
    }
}

static bool is_prime(const Terms *t, uint32_t c) {
    for (uint32_t k = 0; k < t->n; k++)
        if (digit(t, c, k) != 2 && t->holds[c + (2 - digit(t, c, k)) * t->power[k]])
            return false;
    return t->holds[c];
}

/* How many assignments of a set agree with a cube. */
static uint32_t covered(const Terms *t, uint32_t c, const uint64_t set[4]) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < 1u << t->n; a++)
        n += (a & t->mask[c]) == t->bits[c] && unit_terms_has(set, a);
    return n;
}

static void remove_cube(const Terms *t, uint32_t c, uint64_t set[4]) {
    for (uint32_t a = 0; a < 1u << t->n; a++)
        if ((a & t->mask[c]) == t->bits[c])
            set[a >> 6] &= ~((uint64_t)1 << (a & 63));
}

uint32_t unit_terms(uint32_t n, const uint64_t when[4], const uint64_t any[4], UnitTerm out[128]) {
    assert(n <= UNIT_ATOMS);
    Terms t = {.n = n};
    Vec(uint32_t) primes = {0};
    uint64_t left[4] = {when[0], when[1], when[2], when[3]};
    uint32_t nterms = 0;
    t.power[0] = 1;
    for (uint32_t k = 0; k < UNIT_ATOMS; k++)
        t.power[k + 1] = 3 * t.power[k];
    t.ncubes = t.power[n];
    find_cubes(&t, when, any);
    for (uint32_t c = t.ncubes; c-- > 0;)
        if (is_prime(&t, c))
            vec_push(&primes, c);
    while ((left[0] | left[1] | left[2] | left[3]) && nterms < 128) {
        uint32_t best = 0, most = 0;
        for (uint32_t i = 0; i < primes.len; i++) {
            uint32_t count = covered(&t, primes.at[i], left);
            if (count > most) {
                most = count;
                best = primes.at[i];
            }
        }
        out[nterms++] = (UnitTerm){t.mask[best], t.bits[best]};
        remove_cube(&t, best, left);
    }
    vec_free(&primes);
    return nterms;
}
