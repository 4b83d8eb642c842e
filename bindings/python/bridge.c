/*
 * bridge.c - reads the rows and values of a report as columns, because Python would be too slow.
 *
 * A column of values is an array of pointers to WhammcValue, NULL for missing values; columns of
 * the parts of tuples and maps are derived from it. It fills Arrow's buffers: values, validity
 * bitmaps, offsets. It also counts sites, of which there may be millions.
 */
#include "whammc/report.h"
#include "whammc/whammc.h"

#include <stdlib.h>
#include <string.h>

/* BEGIN: what Python calls */

/* A report as a table: a record for each match site of a probe, each probe, and each script. */
typedef struct Records {
    size_t count;
    uint32_t *module, *thread, *script, *probe, *fname,
        *instruction; /* into `names`; UINT32_MAX = none */
    uint32_t *fid, *pc;
    uint32_t *row;      /* of the report: the first of the record */
    uint8_t *has_place; /* a bit each */
    const char **names; /* *nnames of them, all different */
    size_t nnames;
    /* The values, in the order of the report: of which record and variable they are. */
    uint32_t *record, *variable;
    const WhammcValue **value;
    size_t nvalues;
} Records;

/* Reads the variables whose byte in `wanted` is not 0 (one for each of the report's); NULL if there
 * is no memory left. Mangled names of functions stay as they are if `mangled` is not 0. */
static Records *records_new(WhammcReport *r, const uint8_t *wanted, int mangled);
static void records_free(Records *t);

/* Fills out[i] with the value of a variable that record i has. */
static void records_column(const Records *t, uint32_t variable, const WhammcValue **out);

/* The rows of variables whose byte in `wanted` is not 0: fills `row` with their indices, and `out`
 * with their values as doubles. Returns how many there are; *others is how many of them are no
 * numbers. */
static size_t rows_numbers(WhammcReport *r, const uint8_t *wanted, uint32_t *row, double *out,
                           size_t *others);

/* Fills out[i] with the bits of value i, 0 if there is none: integers and truth values as they are,
 * floats as doubles. Its bit in `there` is set if it is a number; returns how many are. */
static size_t column_numbers(const WhammcValue *const *values, size_t n, uint64_t *out,
                             uint8_t *there);

/* The same of texts, whose bytes are from out[i] to out[i + 1]; `bytes` NULL: only the offsets. */
static size_t column_texts(const WhammcValue *const *values, size_t n, int64_t *out, uint8_t *there,
                           char *bytes);

/* The same of tuples and records: their fields number `k`. */
static size_t column_fields(const WhammcValue *const *values, size_t n, size_t k,
                            const WhammcValue **out, uint8_t *there);

/* The same of maps, whose entries have 2 parts, or of buckets, which have 3: offsets of entries,
 * which are at most INT32_MAX (else the result is SIZE_MAX); and then their parts number `k`. */
static size_t column_lists(const WhammcValue *const *values, size_t n, size_t nparts, int32_t *out,
                           uint8_t *there);
static void column_parts(const WhammcValue *const *values, size_t n, size_t nparts, size_t k,
                         const WhammcValue **out);

/* The union of a value, whose name is a keyword of Python. */
static uint64_t value_u(const WhammcValue *v);
static int64_t value_i(const WhammcValue *v);
static double value_f(const WhammcValue *v);
static const char *value_text(const WhammcValue *v);
static const WhammcValue *value_part(const WhammcValue *v, size_t k);

/* How many sites each pair of a probe and an event has. All zero: none yet. */
typedef struct SiteCounts {
    uint64_t *counts; /* `size` of them, by the number that reports have for the pair */
    char **events;    /* "wasm:opcode:call:before"; NULL: no site yet */
    size_t size;
    int failed; /* there was no memory left */
} SiteCounts;

/* For whammc_list: counts a site in a SiteCounts. */
static void count_site(void *counts, const whammc_site *site);
static void site_counts_free(SiteCounts *counts);

/* END */

/* ---- sites ---- */

static bool site_counts_grow(SiteCounts *t, size_t size) {
    uint64_t *counts = realloc(t->counts, size * sizeof *counts);
    if (counts)
        t->counts = counts;
    char **events = counts ? realloc(t->events, size * sizeof *events) : NULL;
    if (!events)
        return false;
    t->events = events;
    memset(t->counts + t->size, 0, (size - t->size) * sizeof *counts);
    memset(t->events + t->size, 0, (size - t->size) * sizeof *events);
    t->size = size;
    return true;
}

static void count_site(void *counts, const whammc_site *site) {
    SiteCounts *t = counts;
    if (site->number >= t->size && !site_counts_grow(t, 2 * (size_t)site->number + 16))
        t->failed = 1;
    else {
        if (!t->events[site->number])
            t->failed |= !(t->events[site->number] = strdup(site->event));
        t->counts[site->number]++;
    }
}

static void site_counts_free(SiteCounts *t) {
    for (size_t i = 0; i < t->size; i++)
        free(t->events[i]);
    free(t->events);
    free(t->counts);
}

/* ---- values ---- */

static uint64_t value_u(const WhammcValue *v) {
    return v->as.u;
}
static int64_t value_i(const WhammcValue *v) {
    return v->as.i;
}
static double value_f(const WhammcValue *v) {
    return v->as.f;
}
static const char *value_text(const WhammcValue *v) {
    return v->as.text;
}
static const WhammcValue *value_part(const WhammcValue *v, size_t k) {
    return &v->as.parts[k];
}

static size_t set_bit(uint8_t *bits, size_t i, bool on) {
    if (on)
        bits[i / 8] |= (uint8_t)(1u << i % 8);
    return on;
}

static bool is(const WhammcValue *v, WhammcValueKind kind) {
    return v && v->kind == kind;
}

static size_t column_numbers(const WhammcValue *const *values, size_t n, uint64_t *out,
                             uint8_t *there) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        bool number = values[i] && values[i]->kind <= WHAMMC_VALUE_BOOL;
        out[i] = 0;
        if (number)
            memcpy(&out[i], &values[i]->as, sizeof out[i]);
        found += set_bit(there, i, number);
    }
    return found;
}

static size_t column_texts(const WhammcValue *const *values, size_t n, int64_t *out, uint8_t *there,
                           char *bytes) {
    size_t found = 0;
    out[0] = 0;
    for (size_t i = 0; i < n; i++) {
        bool text = is(values[i], WHAMMC_VALUE_STRING);
        size_t size = text ? values[i]->size : 0;
        if (bytes && size)
            memcpy(bytes + out[i], values[i]->as.text, size);
        out[i + 1] = out[i] + (int64_t)size;
        found += set_bit(there, i, text);
    }
    return found;
}

static size_t column_fields(const WhammcValue *const *values, size_t n, size_t k,
                            const WhammcValue **out, uint8_t *there) {
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        bool record = is(values[i], WHAMMC_VALUE_RECORD); /* name, value, name, value ... */
        bool any = record || is(values[i], WHAMMC_VALUE_TUPLE);
        size_t at = record ? 2 * k + 1 : k;
        out[i] = any && at < values[i]->size ? &values[i]->as.parts[at] : NULL;
        found += set_bit(there, i, any);
    }
    return found;
}

/* Whether it is a list of entries with so many parts. */
static bool is_list(const WhammcValue *v, size_t nparts) {
    return is(v, nparts == 3 ? WHAMMC_VALUE_BUCKETS : WHAMMC_VALUE_MAP);
}

static size_t column_lists(const WhammcValue *const *values, size_t n, size_t nparts, int32_t *out,
                           uint8_t *there) {
    size_t found = 0;
    out[0] = 0;
    for (size_t i = 0; i < n; i++) {
        bool list = is_list(values[i], nparts);
        size_t size = list ? values[i]->size / nparts : 0;
        if (size > (size_t)(INT32_MAX - out[i]))
            return SIZE_MAX;
        out[i + 1] = out[i] + (int32_t)size;
        found += set_bit(there, i, list);
    }
    return found;
}

static void column_parts(const WhammcValue *const *values, size_t n, size_t nparts, size_t k,
                         const WhammcValue **out) {
    for (size_t i = 0; i < n; i++)
        for (size_t at = k; is_list(values[i], nparts) && at < values[i]->size; at += nparts)
            *out++ = &values[i]->as.parts[at];
}

static double number_of(const WhammcValue *v) {
    switch (v->kind) {
    case WHAMMC_VALUE_UNSIGNED:
    case WHAMMC_VALUE_BOOL: return (double)v->as.u;
    case WHAMMC_VALUE_SIGNED: return (double)v->as.i;
    case WHAMMC_VALUE_FLOAT: return v->as.f;
    default: return 0;
    }
}

static size_t rows_numbers(WhammcReport *r, const uint8_t *wanted, uint32_t *row, double *out,
                           size_t *others) {
    size_t n, found = 0;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    *others = 0;
    for (size_t k = 0; k < n; k++)
        if (wanted[rows[k].variable]) {
            const WhammcValue *v = whammc_report_value(r, k);
            row[found] = (uint32_t)k;
            out[found++] = number_of(v);
            *others += v->kind > WHAMMC_VALUE_BOOL;
        }
    return found;
}

/* ---- records ---- */

/* A hash table of indices, at most half full; the indexed things say what is equal. */
typedef struct Table {
    uint32_t *slots; /* index + 1; 0 = free */
    size_t mask;
} Table;

static bool table_new(Table *t, size_t most) {
    size_t size = 16;
    while (size < 2 * most)
        size *= 2;
    *t = (Table){calloc(size, sizeof *t->slots), size - 1};
    return t->slots != NULL;
}

static uint64_t mix(uint64_t hash, uint64_t more) {
    hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The index of a name among those of t, which gets it if it is new. */
static uint32_t intern(Records *t, Table *names, const char *name) {
    if (!name)
        return UINT32_MAX;
    uint64_t hash = 0;
    for (const char *c = name; *c; c++)
        hash = mix(hash, (unsigned char)*c);
    size_t at = hash & names->mask;
    for (; names->slots[at]; at = (at + 1) & names->mask)
        if (strcmp(t->names[names->slots[at] - 1], name) == 0)
            return names->slots[at] - 1;
    t->names[t->nnames] = name;
    names->slots[at] = (uint32_t)++t->nnames;
    return (uint32_t)(t->nnames - 1);
}

/* What a row is of: rows of several variables that agree in this are one record. */
typedef struct Key {
    uint32_t module, thread, script, probe, fid, pc;
    uint32_t copy; /* how many rows of the same variable agree in the rest, too, and came before */
    bool has_place;
} Key;

/* What the rows of a report are looked up in while they are put into records. */
typedef struct Tables {
    Table names;     /* by their texts */
    Table records;   /* by their keys */
    Table values;    /* by record and variable: the first value */
    uint32_t *copy;  /* of each record */
    uint32_t *times; /* of a first value: how many rows there were with its record and variable */
} Tables;

static bool key_is(const Records *t, const Tables *tables, size_t i, const Key *key) {
    bool has_place = t->has_place[i / 8] >> i % 8 & 1;
    return t->module[i] == key->module && t->thread[i] == key->thread &&
           t->script[i] == key->script && t->probe[i] == key->probe &&
           has_place == key->has_place && t->fid[i] == key->fid && t->pc[i] == key->pc &&
           tables->copy[i] == key->copy;
}

/* The record with this key, which is made, of this row of the report, if there is none. */
static size_t record_of(Records *t, Tables *tables, const Key *key, size_t row) {
    Table *known = &tables->records;
    uint64_t hash = mix(mix(mix(key->has_place, key->module), key->thread), key->script);
    size_t at = mix(mix(mix(mix(hash, key->probe), key->fid), key->pc), key->copy) & known->mask;
    for (; known->slots[at]; at = (at + 1) & known->mask)
        if (key_is(t, tables, known->slots[at] - 1, key))
            return known->slots[at] - 1;
    size_t i = t->count++;
    known->slots[at] = (uint32_t)t->count;
    t->module[i] = key->module;
    t->thread[i] = key->thread;
    t->script[i] = key->script;
    t->probe[i] = key->probe;
    t->fid[i] = key->fid;
    t->pc[i] = key->pc;
    t->row[i] = (uint32_t)row;
    tables->copy[i] = key->copy;
    set_bit(t->has_place, i, key->has_place);
    return i;
}

/* How many values of this variable a record has been asked to take before; the next value is one
 * more. */
static uint32_t times_before(const Records *t, Tables *tables, size_t record, uint32_t variable) {
    Table *known = &tables->values;
    size_t at = mix(record, variable) & known->mask;
    for (; known->slots[at]; at = (at + 1) & known->mask) {
        size_t k = known->slots[at] - 1;
        if (t->record[k] == record && t->variable[k] == variable)
            return tables->times[k]++;
    }
    known->slots[at] = (uint32_t)t->nvalues + 1;
    tables->times[t->nvalues] = 1;
    return 0;
}

static bool allocate(Records *t, Tables *tables, size_t n) {
    size_t some = n ? n : 1;
    t->module = malloc(some * sizeof *t->module);
    t->thread = malloc(some * sizeof *t->thread);
    t->script = malloc(some * sizeof *t->script);
    t->probe = malloc(some * sizeof *t->probe);
    t->fname = malloc(some * sizeof *t->fname);
    t->instruction = malloc(some * sizeof *t->instruction);
    t->row = malloc(some * sizeof *t->row);
    t->fid = malloc(some * sizeof *t->fid);
    t->pc = malloc(some * sizeof *t->pc);
    t->has_place = calloc(some / 8 + 1, 1);
    t->names = malloc(6 * some * sizeof *t->names);
    t->record = malloc(some * sizeof *t->record);
    t->variable = malloc(some * sizeof *t->variable);
    t->value = malloc(some * sizeof *t->value);
    tables->copy = malloc(some * sizeof *tables->copy);
    tables->times = malloc(some * sizeof *tables->times);
    return t->module && t->thread && t->script && t->probe && t->row && t->fname &&
           t->instruction && t->fid && t->pc && t->has_place && t->names && t->record &&
           t->variable && t->value && tables->copy && tables->times &&
           table_new(&tables->names, 6 * n) && table_new(&tables->records, n) &&
           table_new(&tables->values, n);
}

static void fill(Records *t, WhammcReport *r, const uint8_t *wanted, bool mangled, Tables *tables) {
    size_t n, nvariables;
    const WhammcRow *rows = whammc_report_rows(r, &n);
    const WhammcVariable *variables = whammc_report_variables(r, &nvariables);
    for (size_t k = 0; k < n; k++) {
        const WhammcRow *row = &rows[k];
        if (!wanted[row->variable])
            continue;
        const char *fname = mangled || !row->shown_fname ? row->fname : row->shown_fname;
        Key key = {intern(t, &tables->names, row->module),
                   intern(t, &tables->names, row->thread),
                   intern(t, &tables->names, variables[row->variable].script),
                   intern(t, &tables->names, row->probe),
                   row->has_place ? row->fid : 0,
                   row->has_place ? row->pc : 0,
                   0,
                   row->has_place};
        size_t i = record_of(t, tables, &key, k);
        key.copy = times_before(t, tables, i, (uint32_t)row->variable);
        if (key.copy)
            i = record_of(t, tables, &key, k);
        t->fname[i] = intern(t, &tables->names, fname);
        t->instruction[i] = intern(t, &tables->names, row->instruction);
        t->record[t->nvalues] = (uint32_t)i;
        t->variable[t->nvalues] = (uint32_t)row->variable;
        t->value[t->nvalues++] = whammc_report_value(r, k);
    }
}

static Records *records_new(WhammcReport *r, const uint8_t *wanted, int mangled) {
    size_t n;
    Tables tables = {0};
    whammc_report_rows(r, &n);
    Records *t = calloc(1, sizeof *t);
    bool ok = t && n < UINT32_MAX / 6 && allocate(t, &tables, n);
    if (ok)
        fill(t, r, wanted, mangled != 0, &tables);
    free(tables.names.slots);
    free(tables.records.slots);
    free(tables.values.slots);
    free(tables.copy);
    free(tables.times);
    if (ok)
        return t;
    records_free(t);
    return NULL;
}

static void records_column(const Records *t, uint32_t variable, const WhammcValue **out) {
    memset(out, 0, t->count * sizeof *out);
    for (size_t k = 0; k < t->nvalues; k++)
        if (t->variable[k] == variable)
            out[t->record[k]] = t->value[k];
}

static void records_free(Records *t) {
    if (!t)
        return;
    free(t->module);
    free(t->thread);
    free(t->script);
    free(t->probe);
    free(t->fname);
    free(t->instruction);
    free(t->row);
    free(t->fid);
    free(t->pc);
    free(t->has_place);
    free(t->names);
    free(t->record);
    free(t->variable);
    free(t->value);
    free(t);
}
