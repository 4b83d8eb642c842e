/*
 * testing/testing.h - tests of scripts, for `whammc test`: files with programs, scripts and what is
 * expected of them. docs/testing.md describes their format.
 */
#ifndef WHAMMC_TESTING_TESTING_H
#define WHAMMC_TESTING_TESTING_H

#include "base/buf.h"
#include "run/run.h"

/* ---- test files (test_file.c) ---- */

typedef enum SectionKind {
#define SECTION(NAME, name, argument, text) SECTION_##NAME,
#include "testing/sections.def"
    NSECTIONS
} SectionKind;

/* `--- NAME ARGUMENT` and the lines up to the next one. */
typedef struct Section {
    SectionKind kind;
    const char *argument; /* "" = none */
    Str text;             /* as it is meant: without the escapes of the file */
    const char *file;     /* the path of the file, which an `include` may have named */
    uint32_t line;        /* from 1 */
    uint32_t from, to;    /* the bytes of the file that it takes */
    bool own;             /* the file is the test file itself, not an included one */
} Section;

/* A program with scripts, and what is expected of it. */
typedef struct TestCase {
    const char *name;              /* "" = the only one of the file */
    uint32_t line;                 /* of its header or first section */
    uint32_t end;                  /* in the file: where a missing expectation goes */
    Vec(const Section *) sections; /* the setup's and its own, in this order */
    uint32_t setup;                /* the number of the former */
} TestCase;

/* A text that replaces a part of the file. */
typedef struct Edit {
    uint32_t from, to, number;
    Str text;
} Edit;

typedef struct TestFile {
    const char *path;
    const char *folder; /* absolute */
    Buf contents;
    Vec(TestCase) cases;
    Arena arena;
    const char *wrong; /* why it is no test: "FILE:LINE: ..."; NULL = it is one */
    Vec(Edit) edits;   /* in any order (--update) */
} TestFile;

/* Reads a test file. On failure, `wrong` is set. */
void test_file_read(const Cli *cli, const char *path, TestFile *f);
/* Returns the last section of a kind of a case; NULL = none. */
const Section *test_section(const TestCase *c, SectionKind kind);
/* Returns whether a section of a case has an effect: not a script of the setup, if the case has
 * scripts of its own. */
bool test_uses(const TestCase *c, uint32_t section);
/* Returns the section of a script that has this path where the test runs; NULL = it is another
 * file. */
const Section *test_script(const TestCase *c, Str file);
/* Returns whether the case has this section itself: not the setup, and not an included file. */
bool test_owns(const TestCase *c, const Section *s);
/* Lets the file have this text in place of a section's; or, if that is NULL or not the case's own,
 * in a new one at the end of the case. With an argument, in the place of the section's. */
void test_file_edit(TestFile *f, const TestCase *c, const Section *s, SectionKind kind,
                    const char *argument, Str text);
/* Writes the file with its edits. On failure, prints a message and returns false. */
bool test_file_write(const Cli *cli, TestFile *f);
void test_file_free(TestFile *f);
/* Splits words as a shell does, with '...', "..." and \, appending them to `words`, in the arena.
 * Returns what is wrong, or NULL. */
const char *test_words(Arena *arena, const char *text, Words *words);

/* ---- outcomes (test_show.c) ---- */

typedef enum Verdict { PASSED, FAILED, SKIPPED } Verdict;

typedef struct Outcome {
    Verdict verdict;
    const char *file, *name; /* the test file; the case and its form */
    const char *detail;      /* what is wrong, or why it was skipped; lines */
    double seconds;
} Outcome;
typedef Vec(Outcome) Outcomes;

typedef enum TestFormat { TEST_TEXT, TEST_TAP, TEST_JUNIT } TestFormat;

/* Shows outcomes on standard output: `text` and `tap` those of each file as they arrive. */
void test_show(TestFormat format, const Outcomes *all, uint32_t from, bool verbose);
/* ... and what follows the last one, with the coverage of scripts unless `counted` is NULL. Returns
 * whether no test has failed. */
bool test_show_end(TestFormat format, const Outcomes *all, double seconds, const Buf *counted);

/* ---- running (test_run.c) ---- */

/* A way to run a case. */
typedef struct TestForm {
    const char *engine;
    bool monitor; /* as a monitor, which the engine attaches */
    bool bound;   /* ... or which is bound to the program */
    bool there;   /* the engine is installed */
} TestForm;

typedef struct TestOptions {
    const char *whammc; /* the path of this program */
    Vec(TestForm) forms;
    uint32_t timeout; /* seconds */
    bool update, coverage;
} TestOptions;

/* What a process has given. */
typedef struct TestResult {
    int wait_status;     /* of waitpid() */
    Buf out, err;        /* without messages of whammc */
    Buf messages;        /* ... which are here, as JSON lines */
    Buf report;          /* "" = none */
    const char *program; /* the path of the program; NULL = there is none */
    bool mixed;          /* what scripts print is in `out` */
} TestResult;

/* Runs all cases of a file in all forms, in a folder of its own, and adds their outcomes; and, with
 * `coverage`, what their scripts have counted (cover_add). */
void test_run_file(const Cli *cli, const TestOptions *o, const char *path, Outcomes *all,
                   Arena *texts, Buf *counted);

/* ---- coverage of scripts (test_cover.c) ---- */

/* Appends what a run with --count-statements has counted, a line each. */
void cover_add(const TestCase *c, const TestResult *found, Buf *counted);
/* Appends the coverage of all scripts in all runs; `mark` begins each line. */
void cover_show(const Buf *counted, const char *mark, Buf *out);

/* ---- comparing (test_compare.c) ---- */

/* Compares what a case has given with what it expects, and appends what differs. With `update`,
 * lets the file expect what was found. */
void test_compare(const Cli *cli, TestFile *f, const TestCase *c, TestResult *found, bool update,
                  Buf *problems);
/* Appends "FILE:LINE: ". */
void test_put_place(Buf *out, const char *file, uint32_t line);

#endif
