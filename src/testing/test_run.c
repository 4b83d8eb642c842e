/*
 * testing/test_run.c - runs tests: each case in a folder of its own, by this program.
 */
#include "base/json.h"
#include "cli/process.h"
#include "testing/testing.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The most that a test may write into a file, or its program print. */
#define TEST_FILE_MAX ((uint64_t)64 << 20)

enum { NOT_LOADED = 126 }; /* the status of `whammc run` if the engine cannot load the program */

typedef struct TestRun {
    const Cli *cli;
    const TestOptions *options;
    TestFile *file;
    const TestCase *test;
    Arena *texts; /* of outcomes */
    Buf *counted; /* by scripts, for their coverage */
    Arena arena;
    const char *folder;     /* of the case */
    const char *program;    /* a path; NULL = there is none */
    Words scripts;          /* paths */
    Words given, arguments; /* options, arguments of the program */
    unsigned timeout;
    const char *skip; /* why it is not run; NULL = it is */
} TestRun;

/* ---- folders ---- */

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *where) {
    (void)s;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

static void remove_folder(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Makes the folders above a path. */
static void make_folders(char *path) {
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(path, 0700);
            *p = '/';
        }
}

static bool test_write(const char *path, Str text) {
    FILE *f = fopen(path, "we");
    bool ok = f && fwrite(text.ptr, 1, text.len, f) == text.len;
    return f && fclose(f) == 0 && ok;
}

/* Adds a problem of a section; returns false. */
static bool section_problem(Buf *problems, const Section *s, const char *message,
                            const char *detail) {
    test_put_place(problems, s->file, s->line);
    buf_printf(problems, "%s%s\n", message, detail);
    return false;
}

/* Returns whether a path stays in the folder that it is relative to. */
static bool stays_inside(const char *path) {
    for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
        if (strncmp(p, "..", 2) == 0 && (!p[2] || p[2] == '/'))
            return false;
    return *path != '/';
}

/* ---- what a case consists of ---- */

/* Runs a program with its streams in files of the folder; NULL of them: nothing. */
static int test_run_program(TestRun *r, const char *const *argv, const char *in, const char *out,
                            const char *err) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int fds[3] = {in ? open(in, O_RDONLY | O_CLOEXEC) : null,
                  open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
                  open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    ProcessStreams streams = {.in = fds[0],
                              .out = fds[1],
                              .err = fds[2],
                              .patience = r->timeout,
                              .file_size = TEST_FILE_MAX};
    const char *before = getenv("TMPDIR");
    before = before ? arena_printf(&r->arena, "%s", before) : NULL;
    setenv("TMPDIR", r->folder, 1); /* programs that are killed leave files there */
    int status = process_run(argv, streams);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && fds[i] != null)
            close(fds[i]);
    close(null);
    return status;
}

/* Compiles a program in C; its messages are problems. It is linked apart: clang with -O then lets
 * wasm-opt, if that is there, change the code without the debug information. */
static bool compile_program(TestRun *r, const Section *s, const char *source, Buf *problems) {
    char *clang = process_find("WHAMMC_TEST_CC", "clang");
    const char *object = arena_printf(&r->arena, "%s/app.o", r->folder);
    const char *out = arena_printf(&r->arena, "%s/app.wasm", r->folder);
    const char *said = arena_printf(&r->arena, "%s/clang.txt", r->folder);
    const char *compile[] = {clang, "--target=wasm32-wasi", "-O1", "-g", "-c", "-o", object, source,
                             NULL};
    const char *link[] = {clang, "--target=wasm32-wasi", "-o", out, object, NULL};
    if (!clang) {
        r->skip = "clang is not installed";
        return true;
    }
    bool ok = test_run_program(r, compile, NULL, "/dev/null", said) == 0 &&
              test_run_program(r, link, NULL, "/dev/null", said) == 0;
    free(clang);
    r->program = out;
    if (ok)
        return true;
    Buf text = {0};
    file_read_source(said, TEST_FILE_MAX, &text);
    section_problem(problems, s, "clang cannot compile this program:", "");
    buf_bytes(problems, text.data, text.len);
    buf_free(&text);
    return false;
}

static bool prepare_program(TestRun *r, const Section *s, Buf *problems) {
    const char *path = s->argument;
    if (s->text.len && !stays_inside(path))
        return section_problem(problems, s, "expected the name of a file, found ", path);
    if (s->text.len) {
        path = arena_printf(&r->arena, "%s/%s", r->folder, *path ? file_base(path) : "app.wat");
        if (!test_write(path, s->text))
            return section_problem(problems, s, "cannot write it: ", strerror(errno));
    } else if (access(path, R_OK) != 0) {
        return section_problem(problems, s, "cannot read the program ", path);
    }
    if (str_ends(str_of(path), STR(".c")))
        return compile_program(r, s, path, problems);
    r->program = path;
    return true;
}

static bool prepare_script(TestRun *r, const Section *s, Buf *problems) {
    const char *path = s->argument;
    if (s->text.len) {
        uint32_t n = r->scripts.len + 1;
        path = n == 1 ? "script.whamm" : arena_printf(&r->arena, "script%u.whamm", n);
        if (*s->argument && !stays_inside(s->argument))
            return section_problem(problems, s, "expected the name of a file, found ", s->argument);
        path = *s->argument ? file_base(s->argument) : path;
        if (!test_write(path, s->text))
            return section_problem(problems, s, "cannot write it: ", strerror(errno));
    } else if (access(path, R_OK) != 0) {
        path = file_base(path); /* a bundled one, perhaps */
    }
    vec_push(&r->scripts, path);
    return true;
}

static bool prepare_file(TestRun *r, const Section *s, Buf *problems) {
    if (!stays_inside(s->argument))
        return section_problem(problems, s, "expected a path below the folder of the test, found ",
                               s->argument);
    char *path = arena_strndup(&r->arena, s->argument, strlen(s->argument));
    make_folders(path);
    return test_write(path, s->text) ||
           section_problem(problems, s, "cannot write it: ", strerror(errno));
}

/* Adds the words of a section; `{dir}` is the folder of the test file. */
static bool prepare_words(TestRun *r, const Section *s, Words *words, Buf *problems) {
    uint32_t from = words->len;
    const char *wrong = test_words(&r->arena, s->argument, words);
    for (uint32_t i = from; i < words->len; i++) {
        Buf word = {0};
        const char *rest = words->at[i];
        for (const char *at; (at = strstr(rest, "{dir}")); rest = at + 5)
            buf_printf(&word, "%.*s%s", (int)(at - rest), rest, r->file->folder);
        buf_str(&word, str_of(rest));
        words->at[i] = arena_strndup(&r->arena, buf_cstr(&word), word.len);
        buf_free(&word);
    }
    return !wrong || section_problem(problems, s, wrong, "");
}

/* Notes why the case is not run if it needs something that is not there. */
static bool prepare_needs(TestRun *r, const Section *s, Buf *problems) {
    Words names = {0};
    bool ok = prepare_words(r, s, &names, problems);
    for (uint32_t i = 0; i < names.len && ok; i++) {
        char *program = process_find(NULL, names.at[i]);
        bool there = program || engine_is_there(names.at[i]);
        free(program);
        if (!there)
            r->skip = arena_printf(r->texts, "%s is not installed", names.at[i]);
    }
    vec_free(&names);
    return ok;
}

static bool prepare_timeout(TestRun *r, const Section *s, Buf *problems) {
    uint64_t seconds;
    if (!str_decimal(str_of(s->argument), 100000, &seconds) || !seconds)
        return section_problem(problems, s, "expected a number of seconds, found ", s->argument);
    r->timeout = (unsigned)seconds;
    return true;
}

/* Makes the files of a case in the current folder. */
static bool prepare_case(TestRun *r, Buf *problems) {
    const TestCase *t = r->test;
    const Section *app = test_section(t, SECTION_APP), *words = test_section(t, SECTION_ARGUMENTS);
    bool ok = true;
    for (uint32_t i = 0; i < t->sections.len && ok; i++) {
        const Section *s = t->sections.at[i];
        switch (s->kind) {
        case SECTION_SCRIPT: ok = !test_uses(t, i) || prepare_script(r, s, problems); break;
        case SECTION_FILE: ok = prepare_file(r, s, problems); break;
        case SECTION_OPTIONS: ok = prepare_words(r, s, &r->given, problems); break;
        case SECTION_NEEDS: ok = prepare_needs(r, s, problems); break;
        case SECTION_TIMEOUT: ok = prepare_timeout(r, s, problems); break;
        default: break;
        }
    }
    ok = ok && (!words || prepare_words(r, words, &r->arguments, problems));
    return ok && (!app || r->program || prepare_program(r, app, problems));
}

/* ---- running ---- */

/* Returns whether an option is for the compiler of monitors, and not for the engine. Its argument
 * may be the next word: then *two is set. */
static bool is_for_script(const char *word, bool *two) {
    static const char *const names[] = {"--define", "--include-dir", "--steps"};
    *two = false;
    if (word[0] == '-' && (word[1] == 'D' || word[1] == 'I')) {
        *two = !word[2];
        return true;
    }
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(word, names[i], n) == 0 && (!word[n] || word[n] == '=')) {
            *two = !word[n];
            return true;
        }
    }
    return false;
}

/* Adds the options of the test: all, or those for scripts, or the others. */
static void add_given(const TestRun *r, Words *argv, bool scripts, bool others) {
    for (uint32_t i = 0; i < r->given.len; i++) {
        bool two, script = is_for_script(r->given.at[i], &two);
        bool wanted = script ? scripts : others;
        if (wanted)
            vec_push(argv, r->given.at[i]);
        if (script && two && i + 1 < r->given.len)
            i++;
        if (script && two && wanted)
            vec_push(argv, r->given.at[i]);
    }
}

static void add_scripts(TestRun *r, Words *argv, const char *option) {
    vec_push(argv, "-I");
    vec_push(argv, r->file->folder);
    for (uint32_t i = 0; i < r->scripts.len; i++) {
        if (option)
            vec_push(argv, option);
        vec_push(argv, r->scripts.at[i]);
    }
}

/* Separates messages of whammc from other lines. */
static void split_messages(const Buf *text, Buf *err, Buf *messages) {
    static const char begin[] = "{\"severity\":\"";
    for (size_t at = 0; at < text->len;) {
        const uint8_t *end = memchr(text->data + at, '\n', text->len - at);
        size_t n = end ? (size_t)(end - text->data) + 1 - at : text->len - at;
        bool message = n >= sizeof begin && memcmp(text->data + at, begin, sizeof begin - 1) == 0;
        buf_bytes(message ? messages : err, text->data + at, n);
        at += n;
    }
}

/* Runs whammc with these words; false, after a problem, if it could not, or did not end. */
static bool run_whammc(TestRun *r, Words *argv, const char *in, TestResult *found, Buf *problems) {
    Buf err = {0};
    vec_push(argv, NULL);
    found->out.len = found->err.len = found->messages.len = 0;
    found->wait_status = test_run_program(r, argv->at, in, "../stdout", "../stderr");
    const char *wrong = NULL;
    if (found->wait_status < 0)
        wrong = arena_printf(&r->arena, "cannot run %s: %s", argv->at[0], strerror(errno));
    else if (process_took_long(found->wait_status))
        wrong = arena_printf(&r->arena, "expected an end within %u seconds (--timeout), found none",
                             r->timeout);
    else if (!file_read_source("../stdout", TEST_FILE_MAX - 1, &found->out) ||
             !file_read_source("../stderr", TEST_FILE_MAX - 1, &err))
        wrong = arena_printf(&r->arena, "expected less than %u MB of output, found more",
                             (unsigned)(TEST_FILE_MAX >> 20));
    if (wrong) {
        test_put_place(problems, r->file->path, r->test->line);
        buf_printf(problems, "%s\n", wrong);
    }
    split_messages(&err, &found->err, &found->messages);
    buf_free(&err);
    return !wrong;
}

/* Returns the reason to skip the form: the first message. */
static const char *why_no_monitor(TestRun *r, const Buf *messages) {
    static const char *const names[] = {"message"};
    Str message = {0};
    const char *at = (const char *)messages->data;
    const char *end = messages->len ? memchr(at, '\n', messages->len) : NULL;
    Json j = {&r->arena, at, end};
    if (!end || !json_object(&j, names, 1, &message))
        return "its scripts cannot be a monitor";
    return arena_printf(r->texts, "no monitor: %.*s", STR_ARG(message));
}

/* Compiles the scripts into a monitor; skips the form if they cannot be one. */
static bool make_monitor(TestRun *r, const char *path, TestResult *found, Buf *problems) {
    Words argv = {0};
    vec_push(&argv, r->options->whammc);
    vec_push(&argv, "monitor");
    vec_push(&argv, "--message-format=json");
    vec_push(&argv, "--output");
    vec_push(&argv, path);
    add_given(r, &argv, true, false);
    add_scripts(r, &argv, "-s");
    bool ok = run_whammc(r, &argv, NULL, found, problems);
    if (ok && found->wait_status != 0)
        r->skip = why_no_monitor(r, &found->messages);
    vec_free(&argv);
    return ok;
}

/* Adds the words of `whammc run`, for this form. */
static void put_run(TestRun *r, const TestForm *form, const char *monitor, bool counts,
                    Words *argv) {
    vec_push(argv, "run");
    vec_push(argv, "--message-format=json");
    vec_push(argv, "--report-format=json");
    vec_push(argv, "--output=../report");
    vec_push(argv, arena_printf(&r->arena, "--engine=%s", form->engine));
    if (monitor)
        vec_push(argv, arena_printf(&r->arena, "--monitor=%s", monitor));
    if (counts)
        vec_push(argv, "--count-statements");
    add_given(r, argv, !monitor, true);
    if (!monitor)
        add_scripts(r, argv, "-s");
    vec_push(argv, r->program);
    for (uint32_t i = 0; i < r->arguments.len; i++)
        vec_push(argv, r->arguments.at[i]);
}

/* Runs the program with its scripts, or checks these if there is none. */
static bool run_form(TestRun *r, const TestForm *form, bool counts, TestResult *found,
                     Buf *problems) {
    const Section *input = test_section(r->test, SECTION_STDIN);
    const char *monitor = NULL;
    Words argv = {0};
    if (form->monitor && r->program) {
        if (!make_monitor(r, "../scripts.wasm", found, problems))
            return false;
        if (r->skip)
            return true;
        monitor = form->bound ? "../scripts.wasm" : NULL;
    }
    if (input && !test_write("../stdin", input->text))
        return section_problem(problems, input, "cannot write it: ", strerror(errno));
    vec_push(&argv, r->options->whammc);
    if (r->program) {
        put_run(r, form, monitor, counts, &argv);
    } else {
        vec_push(&argv, "check");
        vec_push(&argv, "--message-format=json");
        add_given(r, &argv, true, true);
        add_scripts(r, &argv, NULL);
    }
    found->mixed = form->monitor && r->program;
    found->program = r->program;
    bool ok = run_whammc(r, &argv, input ? "../stdin" : NULL, found, problems);
    vec_free(&argv);
    if (ok)
        file_read_source("../report", TEST_FILE_MAX, &found->report);
    if (ok && monitor && WIFEXITED(found->wait_status) &&
        WEXITSTATUS(found->wait_status) == NOT_LOADED)
        r->skip = arena_printf(r->texts, "%s cannot load the program with a monitor", form->engine);
    return ok;
}

static void test_free_result(TestResult *found) {
    buf_free(&found->out);
    buf_free(&found->err);
    buf_free(&found->messages);
    buf_free(&found->report);
    *found = (TestResult){0};
}

/* Runs a case once more, and notes which parts of its scripts run. */
static void count_here(TestRun *r, const TestForm *form) {
    TestResult found = {0};
    Buf ignored = {0};
    if (run_form(r, form, true, &found, &ignored))
        cover_add(r->test, &found, r->counted);
    test_free_result(&found);
    buf_free(&ignored);
}

/* Runs a case in a form in the current folder, and notes what is wrong. */
static void run_here(TestRun *r, const TestForm *form, Buf *problems) {
    TestResult found = {0};
    bool first = form == r->options->forms.at;
    if (prepare_case(r, problems) && !r->skip && run_form(r, form, false, &found, problems) &&
        !r->skip)
        test_compare(r->cli, r->file, r->test, &found, r->options->update && first, problems);
    test_free_result(&found);
    if (r->options->coverage && first && r->program && !r->skip)
        count_here(r, form);
}

static double test_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Returns "NAME [ENGINE, bound]". */
static const char *form_name(const TestRun *r, const TestForm *form) {
    const char *name = r->test->name, *blank = *name ? " " : "";
    if (!test_section(r->test, SECTION_APP))
        return arena_printf(r->texts, "%s", name);
    return arena_printf(r->texts, "%s%s[%s%s]", name, blank, form->engine,
                        form->bound ? ", bound" : "");
}

/* Runs a case in a form, in a folder of its own below the current one, and adds the outcome. */
static void run_case(TestRun *r, const TestForm *form, Outcomes *all) {
    Buf problems = {0};
    double start = test_seconds();
    r->timeout = r->options->timeout;
    r->skip = NULL;
    char *folder = getcwd(NULL, 0);
    r->folder = folder;
    if (!form->there)
        r->skip = arena_printf(r->texts, "%s is not installed", form->engine);
    else if (!folder || mkdir("run", 0700) != 0 || chdir("run") != 0)
        buf_printf(&problems, "%s: cannot make a folder: %s\n", r->file->path, strerror(errno));
    else
        run_here(r, form, &problems);
    if (folder && chdir(folder) == 0)
        remove_folder("run");
    remove("report");
    free(folder);
    r->scripts.len = r->given.len = r->arguments.len = 0;
    Verdict verdict = problems.len ? FAILED : r->skip ? SKIPPED : PASSED;
    const char *detail = problems.len ? buf_cstr(&problems) : r->skip ? r->skip : "";
    vec_push(all, ((Outcome){verdict, arena_strndup(r->texts, r->file->path, strlen(r->file->path)),
                             form_name(r, form), arena_strndup(r->texts, detail, strlen(detail)),
                             test_seconds() - start}));
    buf_free(&problems);
}

/* Runs each case in each form, in a folder that is the current one meanwhile. */
static void run_cases(TestRun *r, const Place *place, Outcomes *all) {
    const TestOptions *o = r->options;
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (uint32_t i = 0; i < r->file->cases.len && chdir(place->directory) == 0; i++) {
        r->test = &r->file->cases.at[i];
        r->program = NULL;
        uint32_t n = test_section(r->test, SECTION_APP) ? o->forms.len : 1;
        for (uint32_t k = 0; k < n && !process_asked(); k++)
            run_case(r, &o->forms.at[k], all);
    }
    if (before < 0 || fchdir(before) != 0)
        vec_push(all, ((Outcome){FAILED, r->file->path, "", "cannot return to the folder", 0}));
    close(before);
}

void test_run_file(const Cli *cli, const TestOptions *o, const char *path, Outcomes *all,
                   Arena *texts, Buf *counted) {
    TestFile f = {0};
    Place place = {0};
    TestRun r = {.cli = cli, .options = o, .file = &f, .texts = texts, .counted = counted};
    test_file_read(cli, path, &f);
    const char *wrong = f.wrong;
    if (!wrong && !place_make(&place, NULL))
        wrong = arena_printf(&f.arena, "%s: cannot make a folder: %s", path, strerror(errno));
    if (wrong)
        vec_push(all, ((Outcome){FAILED, arena_strndup(texts, path, strlen(path)), "",
                                 arena_strndup(texts, wrong, strlen(wrong)), 0}));
    else
        run_cases(&r, &place, all);
    if (f.edits.len && !wrong)
        test_file_write(cli, &f);
    if (place.directory)
        remove_folder(place.directory);
    place_remove(&place);
    vec_free(&r.scripts);
    vec_free(&r.given);
    vec_free(&r.arguments);
    arena_free(&r.arena);
    test_file_free(&f);
}
