/*
 * tests/fuzz/fuzz_names.c - libFuzzer target for names: of functions (from the name section,
 * exports and imports), of the module and its file, in messages, lists and every view of a report.
 *
 * The input is names, a line each, of which a program is made: the file, the module, an import's
 * module, the import, an export, then functions. A report of calls among its functions and of a
 * call tree is shown in all views. Names are files and functions of sources, too. What
 * is for programs must be well-formed whatever the names are.
 */
#include <stdlib.h>

#include "../unit/one_report.h"
#include "annotate/annotate.h"
#include "base/demangle.h"
#include "format/format.h"
#include "report/report_write.h"
#include "report/table.h"
#include "report/value.h"
#include "valid/valid.h"
#include "whammc/whammc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_NAME, MODULE, FROM, IMPORT, EXPORT, FIRST, MAX_NAMES = 12, FUNCTIONS = 4 };

static uint32_t split(const uint8_t *data, size_t size, Str names[MAX_NAMES]) {
    uint32_t n = 0;
    const uint8_t *end = data + size;
    while (data < end && n < MAX_NAMES) {
        const uint8_t *line = memchr(data, '\n', (size_t)(end - data));
        line = line ? line : end;
        names[n++] = (Str){(const char *)data, (uint32_t)(line - data)};
        data = line < end ? line + 1 : end;
    }
    return n;
}

/* ---- the program ---- */

static void put_section(Buf *out, uint8_t id, Buf *content) {
    buf_u8(out, id);
    buf_uleb(out, content->len);
    buf_bytes(out, content->data, content->len);
    content->len = 0;
}

/* An import and FUNCTIONS functions that call the one before them. */
static void make_program(const Str *names, uint32_t n, Buf *out) {
    Buf b = {0}, names_of = {0};
    buf_bytes(out, "\0asm\1\0\0\0", 8);
    buf_bytes(&b, "\1\x60\0\0", 4);
    put_section(out, WASM_SEC_TYPE, &b);
    buf_u8(&b, 1);
    buf_name(&b, names[FROM]);
    buf_name(&b, names[IMPORT]);
    buf_bytes(&b, "\0\0", 2);
    put_section(out, WASM_SEC_IMPORT, &b);
    buf_bytes(&b, "\4\0\0\0\0", 5);
    put_section(out, WASM_SEC_FUNCTION, &b);
    buf_u8(&b, 1);
    buf_name(&b, names[EXPORT]);
    buf_bytes(&b, "\0\1", 2);
    put_section(out, WASM_SEC_EXPORT, &b);
    buf_u8(&b, FUNCTIONS);
    for (uint8_t f = 0; f < FUNCTIONS; f++) {
        buf_bytes(&b, "\4\0\x10", 3);
        buf_u8(&b, f);
        buf_u8(&b, 0x0b);
    }
    put_section(out, WASM_SEC_CODE, &b);
    buf_name(&b, STR("name"));
    buf_name(&names_of, names[MODULE]);
    put_section(&b, 0, &names_of);
    buf_uleb(&names_of, n - FIRST);
    for (uint32_t i = FIRST; i < n; i++) {
        buf_uleb(&names_of, i - FIRST);
        buf_name(&names_of, names[i]);
    }
    put_section(&b, 1, &names_of);
    put_section(out, WASM_SEC_CUSTOM, &b);
    buf_free(&names_of);
    buf_free(&b);
}

/* ---- what must hold ---- */

/* JSON: no control characters in strings, which end. */
static void check_json(const Buf *text) {
    bool in_string = false;
    for (size_t i = 0; i < text->len; i++) {
        uint8_t c = text->data[i];
        if (in_string && c < ' ')
            abort();
        if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
    }
    if (in_string)
        abort();
}

/* XML: no control characters. */
static void check_xml(const Buf *text) {
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] < ' ' && text->data[i] != '\n')
            abort();
}

static bool begins(const uint8_t *p, size_t n, const char *what) {
    return n >= strlen(what) && memcmp(p, what, strlen(what)) == 0;
}

/* A control character of the second set, or one that turns the direction of text. */
static bool is_control(const uint8_t *p, size_t n) {
    if (begins(p, n, "\xc2"))
        return n > 1 && p[1] < 0xa0;
    if (begins(p, n, "\xe2\x80"))
        return n > 2 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xaa && p[2] <= 0xae));
    if (begins(p, n, "\xe2\x81"))
        return n > 2 && p[2] >= 0xa6 && p[2] <= 0xa9;
    return begins(p, n, "\xd8\x9c");
}

/* Text for people: nothing that changes what a terminal does, or the order of what it shows. */
static void check_text(const Buf *text) {
    for (size_t i = 0; i < text->len; i++)
        if ((text->data[i] < ' ' && text->data[i] != '\n') || text->data[i] == 0x7f ||
            is_control(text->data + i, text->len - i))
            abort();
}

/* ---- views ---- */

/* Rows of all functions, calls, and a tree of them; #N are the program's names. */
static const char report[] =
    "================================= REPORT CSV FLUSH ====================================\n"
    "id, id_type, name, whamm_type, wasm_type, script_id, fname, fid, pc, probe_id, value(s)\n"
    "4, memaddr, n, u64, i64, script0, #0, 0, 1, 0_wasm:opcode:call:before, 7\n"
    "8, memaddr, n, u64, i64, script0, #1, 1, 1, 0_wasm:opcode:call:before, 6\n"
    "12, memaddr, n, u64, i64, script0, #2, 2, 1, 0_wasm:opcode:call:before, 5\n"
    "16, memaddr, n, u64, i64, script0, #3, 3, 1, 0_wasm:opcode:call:before, 5\n"
    "20, memaddr, n, u64, i64, script0, #4, 4, 1, 0_wasm:opcode:call:before, 5\n"
    "0, map_id, arcs, map<(u32,u32),(u64,u64)>, i32, script0, , , , , "
    "(4294967295,4)->(1,100);(4,3)->(2,60);(3,2)->(5,30);(2,1)->(7,20);(1,0)->(9,10)\n"
    "1, map_id, tree, map<u32,(u32,u32,u64,u64)>, i32, script0, , , , , "
    "1->(0,4,1,1000);2->(1,3,3,2000);3->(2,2,4,500);4->(3,1,9,1500);5->(4,0,1,250)\n";

static void show(const Report *r, const Places *p, Str title, bool demangled) {
    Buf out = {0};
    Profile arcs = {0}, tree = {0};
    ProfileVariables any = {0};
    if (profile_read_arcs(&arcs, r, any)) {
        profile_name(&arcs, r, p, NULL, demangled);
        const ProfileView v = {.p = &arcs};
        format_flat(&v, &out);
        format_gprof(&v, &out);
        check_text(&out);
        out.len = 0;
        format_dot(&v, &out);
        check_json(&out); /* the strings of the two are alike */
        out.len = 0;
    }
    if (profile_read_tree(&tree, r, any)) {
        profile_name(&tree, r, p, NULL, demangled);
        const ProfileView v = {.p = &tree, .base = &tree, .title = title};
        format_folded(&v, &out);
        check_text(&out);
        out.len = 0;
        format_svg(&v, &out);
        check_xml(&out);
        out.len = 0;
        format_speedscope(&v, &out);
        check_json(&out);
        out.len = 0;
        format_cpuprofile(&v, &out);
        check_json(&out);
    }
    profile_free(&arcs);
    profile_free(&tree);
    buf_free(&out);
}

/* ---- sources ---- */

/* The names as files, functions and texts of sources. */
static bool read_source(void *ctx, const char *path, size_t limit, Buf *out) {
    (void)ctx;
    if (strlen(path) > limit)
        return false;
    buf_str(out, str_of(path));
    return true;
}

static void check_page(Buf *page) {
    static const char *const never[] = {"<script", "<img", "<svg", "<a href=\"h"};
    const char *text = buf_cstr(page);
    for (uint32_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strlen(text) != page->len || strstr(text, never[i]))
            abort();
    buf_free(page);
}

/* Counts beside texts that the names are, and beside instructions of functions with such names. */
static void annotate(const Places *p, Locator *l, const Report *r, Str name) {
    static const char *const all[] = {NULL};
    Annotation a = {0};
    Sources sources = {.read = read_source};
    AnnotateOptions look = {
        .places = p, .sources = &sources, .title = name, .variable = name, .files = all};
    annotate_make(&a, p, l, r, annotate_variable(r, NULL));
    AnnotatedFile *file = vec_add(&a.files);
    file->path = name;
    vec_push(&file->lines, ((AnnotatedLine){1, true, 0, 5}));
    vec_push(&file->lines, ((AnnotatedLine){UINT32_MAX, false, 0, 7}));
    for (look.instructions = false;; look.instructions = true) {
        Buf out = {0}, page = {0};
        annotate_text(&a, &look, &out);
        check_text(&out);
        annotate_html_begin(look.title, &page);
        annotate_html(&a, &look, 0, &page);
        annotate_html_end(&page);
        check_page(&page);
        buf_free(&out);
        if (look.instructions)
            break;
    }
    sources_free(&sources);
    annotate_free(&a);
}

/* Nobody knows anything. */
static void prepare(void *ctx, LocationOptions *options) {
    (void)ctx;
    *options = (LocationOptions){0};
}

/* What is written with locations is read again with the same. */
static void check_again(const Report *r, WriteForm form) {
    Buf out = {0};
    Report again = {0};
    ReportParts parts = {0};
    write_report(r, form, true, &out);
    if (!one_report(&again, &parts, (Str){(const char *)out.data, (uint32_t)out.len}, 0) ||
        again.rows.len != r->rows.len || !again.rows.at[0].location ||
        again.rows.at[0].location->line != r->rows.at[0].location->line ||
        !str_eq(again.rows.at[0].value, r->rows.at[0].value))
        abort();
    one_report_free(&again, &parts);
    buf_free(&out);
}

static void locate(const Places *p, Report *r, Str file, Str function) {
    Diags diags = {0};
    Locator l = {.prepare = prepare, .diags = &diags};
    RowLocation location = {file, function, 12, 3};
    TableOptions look = {.width = 80, .lines = true, .hex = true, .nonzero = true};
    annotate(p, &l, r, file);
    for (uint32_t i = 0; i < r->rows.len; i++)
        r->rows.at[i].location = &location;
    for (look.by = TOTALS_SITE; look.by <= TOTALS_FILE; look.by++)
        for (look.sort = TABLE_BY_VALUE; look.sort <= TABLE_BY_NAME; look.sort++) {
            Buf out = {0};
            table_print(r, &look, &out);
            check_text(&out);
            buf_free(&out);
        }
    for (WriteForm form = WRITE_CSV; form <= WRITE_CSV_RFC4180; form++)
        check_again(r, form);
    for (uint32_t i = 0; i < r->rows.len; i++)
        r->rows.at[i].location = NULL;
    locator_close(&l);
    diag_free(&diags);
}

static void show_all(const Places *p, Str title, Str function) {
    Report r = {0};
    ReportParts parts = {0};
    Buf out = {0};
    TableOptions look = {.width = 80};
    if (!one_report(&r, &parts, (Str){report, sizeof report - 1}, 0))
        abort();
    value_unify(&r);
    places_name_rows(p, &r);
    look.instructions = places_instructions(p, &r);
    locate(p, &r, title, function);
    write_report(&r, WRITE_JSON, false, &out);
    check_json(&out);
    write_report(&r, WRITE_CSV_RFC4180, false, &out);
    write_report(&r, WRITE_CSV, false, &out);
    out.len = 0;
    table_print(&r, &look, &out);
    check_text(&out);
    show(&r, p, title, false);
    show(&r, p, title, true);
    places_demangle(&r);
    out.len = 0;
    table_print(&r, &look, &out);
    check_text(&out);
    buf_free(&out);
    one_report_free(&r, &parts);
}

/* The names as a part of messages and lists. */
static void list_site(void *ctx, const whammc_site *s) {
    (void)ctx;
    (void)strlen(s->fname);
}

static void list(const char *file, const Buf *program) {
    static const char script[] =
        "wasm:opcode:call:before / fname != \"x\" && target_fn_name != \"\" / "
        "{ report var n: map<(str, str), u32>; n[(fname, target_fn_name)]++; }";
    whammc *w = whammc_new();
    uint8_t *out;
    size_t size;
    whammc_add_script(w, file, script, sizeof script - 1);
    whammc_list(w, file, program->data, program->len, list_site, NULL);
    whammc_messages(w, 0);
    whammc_messages(w, WHAMMC_JSON);
    if (whammc_instrument(w, file, program->data, program->len, NULL, &out, &size) ==
        WHAMMC_INTERNAL)
        abort();
    whammc_release(out);
    whammc_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Str names[MAX_NAMES];
    uint32_t n = split(data, size, names);
    if (n <= FIRST)
        return 0;
    Buf program = {0};
    Diags diags = {0};
    WasmModule m;
    Arena arena = {0};
    const char *file = arena_strndup(&arena, names[FILE_NAME].ptr, names[FILE_NAME].len);
    make_program(names, n, &program);
    if (wasm_load(&m, program.data, program.len,
                  diag_file(&diags, file, program.data, program.len, true), &diags)) {
        Places places;
        places_open(&places, &m);
        show_all(&places, names[FILE_NAME], names[FIRST]);
        places_free(&places);
        if (n % 4 == 0)
            list(file, &program);
    }
    wasm_module_free(&m);
    diag_free(&diags);
    arena_free(&arena);
    buf_free(&program);
    return 0;
}
