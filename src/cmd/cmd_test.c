/*
 * cmd/cmd_test.c - `whammc test`: runs the tests of scripts. Several processes take files in turn,
 * and send what came out to this one, which shows it in the order of the files.
 */
#include "cli/process.h"
#include "testing/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT = 60 }; /* seconds */

typedef struct Settings {
    TestOptions test;
    Words engines;
    uint32_t jobs;
    TestFormat format;
    bool bind, verbose;
    /* The test files. */
    Words files;
    Buf counted; /* by scripts, for their coverage */
    Arena arena;
} Settings;

/* ---- finding tests ---- */

static int cmd_test_order(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_test_file(const char *name) {
    return str_ends(str_of(name), STR(".test"));
}

/* Adds the tests of a folder and those below it, in the order of their names; hidden ones are left
 * out. Returns false if it cannot be read. */
static bool find_in_folder(Settings *s, const char *folder) {
    DIR *d = opendir(folder);
    Words names = {0};
    if (!d)
        return false;
    for (struct dirent *e; (e = readdir(d));)
        if (*e->d_name != '.')
            vec_push(&names, arena_strndup(&s->arena, e->d_name, strlen(e->d_name)));
    closedir(d);
    if (names.len)
        qsort(names.at, names.len, sizeof *names.at, cmd_test_order);
    bool here = strcmp(folder, ".") == 0, ok = true;
    for (uint32_t i = 0; i < names.len; i++) {
        const char *path =
            here ? names.at[i] : arena_printf(&s->arena, "%s/%s", folder, names.at[i]);
        struct stat found;
        if (lstat(path, &found) != 0)
            continue;
        if (S_ISDIR(found.st_mode))
            ok &= find_in_folder(s, path);
        else if (is_test_file(path) && stat(path, &found) == 0 && S_ISREG(found.st_mode))
            vec_push(&s->files, path);
    }
    vec_free(&names);
    return ok;
}

/* Finds the tests of the operands: STATUS_OK, or another status after a message. */
static int find_tests(const Cli *cli, Settings *s) {
    static const char *const here[] = {"."};
    const char *const *paths = cli->noperands ? (const char *const *)cli->operands : here;
    for (int i = 0; i < cli->noperands || i < 1; i++) {
        struct stat found;
        char *path = arena_strndup(&s->arena, paths[i], strlen(paths[i]));
        for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
            path[n - 1] = 0;
        bool ok = stat(path, &found) == 0;
        if (ok && S_ISDIR(found.st_mode))
            ok = find_in_folder(s, path);
        else if (ok)
            vec_push(&s->files, path);
        if (!ok) {
            message_one(cli, DIAG_CANNOT_READ, NULL, "%s: %s", path, strerror(errno));
            return STATUS_ERROR;
        }
    }
    if (s->files.len)
        return STATUS_OK;
    message_one(cli, DIAG_NO_TESTS, "tests are files with names like calls.test",
                "there are no tests in %s", cli->noperands ? cli->operands[0] : "this folder");
    return STATUS_ERROR;
}

/* ---- engines ---- */

static void cmd_test_add_engine(Settings *s, const char *name) {
    bool wizard = engine_kind(name) == ENGINE_WIZARD;
    bool there = strchr(name, '/') || engine_is_there(name);
    TestForm form = {.engine = name, .monitor = wizard, .there = there};
    vec_push(&s->test.forms, form);
    form.monitor = form.bound = true;
    if (s->bind && !wizard)
        vec_push(&s->test.forms, form);
}

/* Sets the ways to run each test. `all` are the installed engines. Returns the exit status. */
static int find_engines(const Cli *cli, Settings *s) {
    if (!s->engines.len)
        vec_push(&s->engines, "node");
    for (uint32_t i = 0; i < s->engines.len; i++) {
        const char *name = s->engines.at[i], *known;
        bool all = strcmp(name, "all") == 0, found = all || strchr(name, '/');
        for (uint32_t k = 0; (known = engine_known(k)); k++) {
            found |= strcmp(name, known) == 0;
            if (all && engine_is_there(known))
                cmd_test_add_engine(s, known);
        }
        if (!found)
            return cli_usage(
                cli, "--engine=%s: expected all, node, node24, wasmtime, wizard or a path", name);
        if (!all)
            cmd_test_add_engine(s, name);
    }
    if (s->test.forms.len)
        return STATUS_OK;
    message_one(cli, DIAG_NO_ENGINE, NULL, "no engine is installed");
    return STATUS_NO_ENGINE;
}

/* ---- processes ---- */

#ifndef __EMSCRIPTEN__

#include <sys/mman.h>
#include <sys/prctl.h>

/* Work shared by processes. */
typedef struct Team {
    _Atomic uint32_t *next; /* the file that is taken next, in shared memory */
    int ends[2];            /* a pipe with a record for each file that is done */
    FILE *lock;             /* is locked while one is written */
} Team;

/* The head of the record of a file: the number of the file, of bytes of outcomes, and of bytes that
 * scripts have counted. */
enum { RECORD_FILE, RECORD_OUTCOMES, RECORD_COUNTED, RECORD_WORDS };

/* Appends the record: of each outcome its verdict, its time and its texts. */
static void cmd_test_put_record(Buf *out, uint32_t number, const Outcomes *all,
                                const Buf *counted) {
    uint32_t head[RECORD_WORDS] = {number};
    buf_bytes(out, head, sizeof head);
    for (uint32_t i = 0; i < all->len; i++) {
        const Outcome *o = &all->at[i];
        buf_u8(out, (uint8_t)o->verdict);
        buf_bytes(out, &o->seconds, sizeof o->seconds);
        buf_bytes(out, o->name, strlen(o->name) + 1);
        buf_bytes(out, o->detail, strlen(o->detail) + 1);
    }
    head[RECORD_OUTCOMES] = (uint32_t)(out->len - sizeof head);
    head[RECORD_COUNTED] = (uint32_t)counted->len;
    buf_bytes(out, counted->data, counted->len);
    memcpy(out->data, head, sizeof head);
}

/* Adds the outcomes of a record. */
static void get_outcomes(Settings *s, const char *file, const uint8_t *bytes, uint32_t size,
                         Outcomes *all) {
    const char *at = (const char *)bytes, *end = at + size;
    while (at < end) {
        Outcome o = {.file = file, .verdict = (Verdict)*at++};
        memcpy(&o.seconds, at, sizeof o.seconds);
        at += sizeof o.seconds;
        o.name = arena_strndup(&s->arena, at, strlen(at));
        at += strlen(at) + 1;
        o.detail = arena_strndup(&s->arena, at, strlen(at));
        at += strlen(at) + 1;
        vec_push(all, o);
    }
}

/* Takes files until none is left. The process ends. */
static _Noreturn void work_on_tests(const Cli *cli, Settings *s, Team *team) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(team->ends[0]);
    process_guard();
    bool ok = true;
    for (uint32_t i; ok && !process_asked() && (i = (*team->next)++) < s->files.len;) {
        Outcomes all = {0};
        Arena texts = {0};
        Buf record = {0}, counted = {0};
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        test_run_file(cli, &s->test, s->files.at[i], &all, &texts, &counted);
        cmd_test_put_record(&record, i, &all, &counted);
        ok = fcntl(fileno(team->lock), F_SETLKW, &lock) == 0 &&
             file_write_fd(team->ends[1], record.data, record.len);
        lock.l_type = F_UNLCK;
        fcntl(fileno(team->lock), F_SETLK, &lock);
        buf_free(&record);
        buf_free(&counted);
        vec_free(&all);
        arena_free(&texts);
    }
    fflush(stderr);
    _exit(ok ? STATUS_OK : STATUS_ERROR);
}

/* Reads exactly so many bytes. */
static bool cmd_test_read(int fd, void *to, size_t n) {
    for (ssize_t got; n; n -= (size_t)got, to = (uint8_t *)to + got)
        if ((got = read(fd, to, n)) <= 0)
            return false;
    return true;
}

/* Shows the outcomes of files in their order, as they come. */
static void gather_outcomes(Settings *s, int fd, Outcomes *all) {
    Buf *records = mem_zalloc((s->files.len + 1) * sizeof *records);
    bool *done = mem_zalloc(s->files.len + 1);
    uint32_t shown = 0, head[RECORD_WORDS];
    for (bool more = true; shown < s->files.len;) {
        more = more && cmd_test_read(fd, head, sizeof head);
        if (more) {
            Buf *record = &records[head[RECORD_FILE]];
            size_t outcomes = head[RECORD_OUTCOMES], counted = head[RECORD_COUNTED];
            buf_reserve(record, outcomes + 1);
            buf_reserve(&s->counted, counted + 1);
            more = cmd_test_read(fd, record->data, outcomes) &&
                   cmd_test_read(fd, s->counted.data + s->counted.len, counted);
            record->len = outcomes;
            s->counted.len += more ? counted : 0;
            done[head[RECORD_FILE]] = more;
        }
        for (; shown < s->files.len && (done[shown] || !more); shown++) {
            uint32_t from = all->len;
            const char *file = s->files.at[shown];
            if (done[shown])
                get_outcomes(s, file, records[shown].data, (uint32_t)records[shown].len, all);
            else
                vec_push(all,
                         ((Outcome){FAILED, file, "", "the process that ran it has ended", 0}));
            buf_free(&records[shown]);
            test_show(s->format, all, from, s->verbose);
        }
    }
    free(records);
    free(done);
}

static bool run_in_parallel(const Cli *cli, Settings *s, Outcomes *all) {
    Team team = {.lock = tmpfile()};
    team.next =
        mmap(NULL, sizeof *team.next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool ok = team.lock && team.next != MAP_FAILED && pipe2(team.ends, O_CLOEXEC) == 0;
    uint32_t started = 0;
    fflush(stdout);
    for (uint32_t i = 0; ok && i < s->jobs; i++) {
        pid_t pid = fork();
        if (pid == 0)
            work_on_tests(cli, s, &team);
        started += pid > 0;
    }
    if (ok) {
        close(team.ends[1]);
        if (started)
            gather_outcomes(s, team.ends[0], all);
        close(team.ends[0]);
    }
    for (uint32_t i = 0; i < started; i++)
        wait(NULL);
    if (team.lock)
        fclose(team.lock);
    return started > 0;
}

#else

static bool run_in_parallel(const Cli *cli, Settings *s, Outcomes *all) {
    (void)cli, (void)s, (void)all;
    return false;
}

#endif

static void run_in_turn(const Cli *cli, Settings *s, Outcomes *all) {
    process_guard();
    for (uint32_t i = 0; i < s->files.len && !process_asked(); i++) {
        uint32_t from = all->len;
        test_run_file(cli, &s->test, s->files.at[i], all, &s->arena, &s->counted);
        test_show(s->format, all, from, s->verbose);
        fflush(stdout);
    }
    int asked = process_asked();
    process_unguard();
    if (asked)
        raise(asked);
}

static int run_tests(const Cli *cli, Settings *s) {
    Outcomes all = {0};
    struct timespec start, end;
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
#ifdef __EMSCRIPTEN__
    n = -1; /* that is Node */
    errno = ENOSYS;
#endif
    if (n < 0) {
        message_one(cli, DIAG_CANNOT_RUN, "take whammc as a program of its own",
                    "whammc cannot run itself: %s", strerror(errno));
        return STATUS_ERROR;
    }
    self[n] = 0;
    s->test.whammc = self;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (s->jobs > s->files.len)
        s->jobs = s->files.len;
    if (s->jobs <= 1 || !run_in_parallel(cli, s, &all))
        run_in_turn(cli, s, &all);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds =
        (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    bool ok = test_show_end(s->format, &all, seconds, s->test.coverage ? &s->counted : NULL);
    vec_free(&all);
    return ok ? STATUS_OK : STATUS_ERROR;
}

/* ---- options ---- */

/* Adds the engines of a list with commas. */
static void add_engine_names(Settings *s, const char *names) {
    while (*names) {
        size_t n = strcspn(names, ",");
        if (n)
            vec_push(&s->engines, arena_strndup(&s->arena, names, n));
        names += n + (names[n] == ',');
    }
}

static bool cmd_test_set(const Cli *cli, void *settings, int key, const char *value) {
    Settings *s = settings;
    switch (key) {
    case OPTION_ENGINE: add_engine_names(s, value); break;
    case OPTION_BIND_TOO: s->bind = true; break;
    case OPTION_JOBS: return cli_count(cli, "jobs", value, &s->jobs);
    case OPTION_FORMAT: s->format = (TestFormat)option_choice(cli, key, value); break;
    case OPTION_STATEMENTS: s->test.coverage = true; break;
    case OPTION_UPDATE: s->test.update = true; break;
    case OPTION_TIMEOUT: return cli_count(cli, "timeout", value, &s->test.timeout);
    case OPTION_VERBOSE: s->verbose = true; break;
    }
    return true;
}

int cmd_test(Cli *cli) {
    Settings s = {.test.timeout = TIMEOUT, .jobs = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN)};
    int status = cli_options(cli, cmd_test_set, &s);
    if (status == STATUS_OK)
        status = find_tests(cli, &s);
    if (status == STATUS_OK)
        status = find_engines(cli, &s);
    if (status == STATUS_OK)
        status = run_tests(cli, &s);
    vec_free(&s.test.forms);
    vec_free(&s.engines);
    vec_free(&s.files);
    buf_free(&s.counted);
    arena_free(&s.arena);
    return status;
}
