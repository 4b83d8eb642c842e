/*
 * cli/progress.c - a line on the terminal during work of more than a second.
 *
 * A timer's signal writes the line, so that the work itself knows nothing of it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

static char line[160];
static size_t line_len; /* 0 = not started */
static volatile sig_atomic_t shown;

static void progress_show(int number) {
    (void)number;
    int saved = errno;
    if (write(STDERR_FILENO, line, line_len) > 0)
        shown = 1;
    errno = saved;
}

/* Sets a one-shot timer; 0 = never. */
static void set_timer(time_t seconds) {
    struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

void progress_start(const char *what, const char *name, size_t size) {
    if (!isatty(STDERR_FILENO))
        return;
    int n = snprintf(line, sizeof line, "whammc: %s %.80s (%.1f MB)...", what, file_base(name),
                     (double)size / 1e6);
    line_len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    for (size_t i = 0; i < line_len; i++)
        if ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7f)
            line[i] = '?';
    struct sigaction action = {.sa_handler = progress_show, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    set_timer(1);
}

void progress_end(void) {
    if (!line_len)
        return;
    set_timer(0);
    signal(SIGALRM, SIG_DFL);
    line_len = 0;
    if (shown)
        fputs("\r\33[K", stderr);
    shown = 0;
}
