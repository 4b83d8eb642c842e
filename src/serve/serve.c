/*
 * serve/serve.c - the server: addresses, access control, responses. Builds without libmicrohttpd
 * use serve/no_server.c instead.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "serve/serve.h"

#ifdef HAVE_HTTP

#include "annotate/html.h"
#include "serve/clients.h"
#include "serve/late.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS = 128,
    CROWD = 96,     /* the number of clients from which a new one replaces an idle one */
    WAITING = 32,   /* clients that wait for the reports of some seconds */
    TIMEOUT_S = 60, /* of idle connections */
    MEMORY = 32768, /* per connection: bounds the size of request headers */
    SECONDS_MAX = 3600,
    LAST_MS = 1000, /* after the end of the program, to answer waiting clients */
};

struct Serve {
    ServeOptions options;
    Live *live;
    bool loopback; /* only this machine can connect */
    struct MHD_Daemon *daemon;
    Clients clients;
    Buf url;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t answered;
    uint32_t answering; /* requests from before the end, with unsent answers */
    uint32_t waiting;   /* clients that wait for the reports of some seconds */
    bool ending;
};

typedef enum RouteFor { ROUTE_ALL, ROUTE_TREE, ROUTE_TIME, ROUTE_MEMORY } RouteFor;

typedef struct Route {
    const char *path;
    RouteFor whose;
    WhammcReportFormat format;
    const char *value, *type, *about;
} Route;

static const Route routes[] = {
#define ROUTE(path, whose, format, value, type, about) {path, whose, format, value, type, about},
#include "serve/routes.def"
#undef ROUTE
};

static const LateMhd *mhd; /* once a server has been started */

static bool has_route(const Serve *s, const Route *r) {
    const ServedProgram *p = &s->options.of;
    switch (r->whose) {
    case ROUTE_TREE: return p->tree;
    case ROUTE_TIME: return p->times;
    case ROUTE_MEMORY: return p->memory;
    default: return true;
    }
}

/* ---- addresses ---- */

/* Splits "HOST:PORT", "[HOST]:PORT", ":PORT" or "PORT". */
static void split_address(const char *address, Buf *host, const char **port) {
    const char *colon = strrchr(address, ':');
    *port = colon ? colon + 1 : address;
    size_t len = colon ? (size_t)(colon - address) : 0;
    bool bracketed = len >= 2 && address[0] == '[' && address[len - 1] == ']';
    if (len)
        buf_bytes(host, address + bracketed, len - 2 * (size_t)bracketed);
    else
        buf_str(host, STR("127.0.0.1"));
}

static bool is_loopback(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) {
        uint32_t ip = ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr);
        return ip >> 24 == 127;
    }
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)a;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* Returns a list, freed with freeaddrinfo; or NULL, with a message in `why`. */
static struct addrinfo *find_address(const char *address, Buf *why) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *found = NULL;
    Buf host = {0};
    const char *port;
    split_address(address, &host, &port);
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    int error = *end || end == port || number > UINT16_MAX
                    ? EAI_SERVICE
                    : getaddrinfo(buf_cstr(&host), port, &hints, &found);
    if (error == EAI_SERVICE)
        buf_printf(why, "'%s' is not a port; expected [HOST:]PORT, such as 8080 or 127.0.0.1:8080",
                   port);
    else if (error)
        buf_printf(why, "'%s': %s", buf_cstr(&host), gai_strerror(error));
    buf_free(&host);
    return error ? NULL : found;
}

bool serve_check(const char *address, const char *token, Buf *why) {
    struct addrinfo *found = find_address(address, why);
    if (!found)
        return false;
    bool allowed = true; /* any of them may be the one that is free */
    for (const struct addrinfo *a = found; a && !token; a = a->ai_next)
        allowed = allowed && is_loopback(a->ai_addr);
    if (!allowed)
        buf_printf(why, "others than this machine could read the reports there: --http-token=TOKEN "
                        "is for those who know it, --http-token= for everybody");
    freeaddrinfo(found);
    return allowed;
}

/* ---- access control ---- */

/* Compares in constant time. */
static bool same_secret(const char *a, const char *b) {
    size_t la = strlen(a), lb = strlen(b);
    unsigned differ = la != lb;
    for (size_t i = 0; i < lb; i++)
        differ |= (unsigned char)(la ? a[i % la] : 0) ^ (unsigned char)b[i];
    return !differ;
}

/* Returns whether a Host header names this machine, as all of 127.0.0.0/8 does. */
static bool names_loopback(const char *host) {
    static const char *const names[] = {"localhost", "[::1]"};
    struct in_addr ip;
    char number[INET_ADDRSTRLEN] = "";
    size_t len = strcspn(host, ":");
    if (len < sizeof number && inet_pton(AF_INET, memcpy(number, host, len), &ip) == 1 &&
        ntohl(ip.s_addr) >> 24 == 127)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (!host[n] || host[n] == ':'))
            return true;
    }
    return false;
}

/* Returns NULL if the request is allowed, otherwise the reason why not. */
static const char *refusal(const Serve *s, struct MHD_Connection *c) {
    const char *token = s->options.token;
    if (token && *token) {
        static const char bearer[] = "Bearer ";
        const char *header = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
        const char *given = header && strncmp(header, bearer, sizeof bearer - 1) == 0
                                ? header + sizeof bearer - 1
                                : mhd->lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
        return given && same_secret(given, token) ? NULL : "the token is missing or wrong";
    }
    const char *host = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    const char *site = mhd->lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
    if (s->loopback && !(host && names_loopback(host)))
        return "the request is not for localhost";
    if (site && (strcmp(site, "cross-site") == 0 || strcmp(site, "same-site") == 0))
        return "the request comes from another site";
    return NULL;
}

/* ---- requests that proxies could interpret differently ---- */

/* The number of occurrences of each of these headers in a request. */
typedef struct HeaderCounts {
    unsigned host, length, encoding;
} HeaderCounts;

static enum MHD_Result count_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    HeaderCounts *counts = ctx;
    (void)kind, (void)value;
    counts->host += strcasecmp(name, "Host") == 0;
    counts->length += strcasecmp(name, "Content-Length") == 0;
    counts->encoding += strcasecmp(name, "Transfer-Encoding") == 0;
    return MHD_YES;
}

/* Returns NULL if the headers are unambiguous, otherwise why not. */
static const char *unclear_headers(struct MHD_Connection *c) {
    HeaderCounts n = {0};
    mhd->get_connection_values(c, MHD_HEADER_KIND, count_header, &n);
    if (n.host > 1)
        return "there is more than one Host";
    if (n.length > 1 || n.encoding > 1 || (n.length && n.encoding))
        return "the length of the body is given more than once";
    return NULL;
}

static int unclear_target; /* a state of a request, as `seen` below */

/* Called by microhttpd with the target of a request, before decoding it. Returns the first state of
 * the request: unclear_target if it has encoded control characters, which would end strings, or an
 * encoded slash in the path. */
static void *look_at_target(void *ctx, const char *target, struct MHD_Connection *c) {
    bool query = false;
    (void)ctx, (void)c;
    for (const char *at = target; *at; at++) {
        query |= *at == '?';
        if (*at != '%')
            continue;
        char digits[3] = {at[1], at[1] ? at[2] : 0, 0}, *end;
        unsigned long byte = strtoul(digits, &end, 16);
        if (end == digits + 2 && (byte < ' ' || byte == 0x7f || (byte == '/' && !query)))
            return &unclear_target;
    }
    return NULL;
}

/* ---- responses ---- */

typedef struct Answer {
    unsigned status;
    const char *type;
    Buf body;  /* given away */
    bool last; /* the connection ends */
    int64_t time;
} Answer;

static void answer_text(Answer *a, unsigned status, const char *text) {
    a->status = status;
    a->type = "text/plain; charset=utf-8";
    buf_printf(&a->body, "%s\n", text);
}

static void serve_put_link(const Serve *s, const Route *r, Buf *out) {
    const char *token = s->options.token;
    buf_printf(out, "<li><a href=\"%s%s", r->path, token && *token ? "?token=" : "");
    if (token && *token)
        for (const char *p = token; *p; p++) /* in a URL */
            buf_printf(out, "%%%02x", (unsigned char)*p);
    buf_str(out, STR("\">"));
    html_text(out, str_of(r->path));
    buf_str(out, STR("</a>: "));
    html_text(out, str_of(r->about));
    buf_str(out, STR("\n"));
}

static bool serve_write_view(const Serve *s, WhammcReport *report, const Route *r, int64_t time,
                             Buf *out) {
    const ServedProgram *p = &s->options.of;
    bool memory = r->whose == ROUTE_MEMORY || (r->whose == ROUTE_TREE && !p->times);
    return served_write(p, report, &(ServedView){r->format, r->value, memory}, time, out);
}

/* Returns whether a route has a view of this report; true if there is no report yet. */
static bool can_write(const Serve *s, const LiveReport *live, const Route *r) {
    if (!live->text.len || r->whose == ROUTE_ALL)
        return true;
    WhammcReport *report = served_report(&s->options.of, &live->text, NULL); /* without errors */
    Buf view = {0};
    bool ok = serve_write_view(s, report, r, live->time, &view);
    whammc_report_free(report);
    buf_free(&view);
    return ok;
}

static void answer_index(const Serve *s, Answer *a) {
    a->status = MHD_HTTP_OK;
    a->type = "text/html; charset=utf-8";
    html_begin(&a->body, str_of(s->options.of.title), STR(""));
    html_element(&a->body, "h1", str_of(s->options.of.title));
    buf_str(&a->body, STR("<ul>\n"));
    LiveReport live = {0};
    const char *why;
    if (s->options.of.unsure && !live_take(s->live, &live, &why))
        live.text.len = 0; /* later reports may have any view */
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (has_route(s, &routes[i]) && can_write(s, &live, &routes[i]))
            serve_put_link(s, &routes[i], &a->body);
    live_report_free(&live);
    buf_str(&a->body, STR("</ul>\n"));
    html_end(&a->body);
}

/* Answers with the program's command line, in the form of Go's servers. */
static void answer_command_line(const Serve *s, Answer *a) {
    a->status = MHD_HTTP_OK;
    a->type = "text/plain; charset=utf-8";
    for (const char *const *word = s->options.command_line; *word; word++)
        buf_bytes(&a->body, *word, strlen(*word) + (word[1] != NULL));
}

/* Parses ?seconds=N; 0 = everything since the program's start. False if N is not a number. */
static bool read_seconds(struct MHD_Connection *c, uint32_t *seconds) {
    const char *text = mhd->lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "seconds");
    char *end = NULL;
    unsigned long n = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    *seconds = (uint32_t)n;
    return !text || (end && !*end && n <= SECONDS_MAX);
}

/* Waits as live_sleep does. False: too many clients are waiting already. */
static bool wait_for(Serve *s, uint32_t seconds, bool *ended) {
    pthread_mutex_lock(&s->lock);
    bool may = s->waiting < WAITING;
    s->waiting += may;
    pthread_mutex_unlock(&s->lock);
    if (!may)
        return false;
    *ended = live_sleep(s->live, seconds);
    pthread_mutex_lock(&s->lock);
    s->waiting--;
    pthread_mutex_unlock(&s->lock);
    return true;
}

/* Returns the difference of reports over the next seconds. */
static WhammcReport *report_of(Serve *s, uint32_t seconds, LiveReport *live, const char **why) {
    LiveReport before = {0};
    bool ended = false, good = true;
    if (seconds) {
        good = live_take(s->live, &before, why);
        if (good && !wait_for(s, seconds, &ended)) {
            *why = "too many others are waiting for reports";
            good = false;
        }
        if (!good) {
            live_report_free(&before);
            return NULL;
        }
    }
    good = live_take(s->live, live, why);
    if (good && ended && live->time == before.time) { /* the engine was killed */
        *why = "the program has ended without a report";
        good = false;
    }
    WhammcReport *report =
        good ? served_report(&s->options.of, &live->text, seconds ? &before.text : NULL) : NULL;
    live_report_free(&before);
    return report;
}

static void answer_report(Serve *s, const Route *r, uint32_t seconds, Answer *a) {
    LiveReport live = {0};
    const char *why;
    WhammcReport *report = report_of(s, seconds, &live, &why);
    if (!report) {
        answer_text(a, MHD_HTTP_SERVICE_UNAVAILABLE, why);
        live_report_free(&live);
        return;
    }
    if (serve_write_view(s, report, r, live.time, &a->body)) {
        a->status = MHD_HTTP_OK;
        a->type = r->type;
        a->time = live.time;
    } else {
        answer_text(a, MHD_HTTP_NOT_FOUND, whammc_report_messages(report, 0));
    }
    whammc_report_free(report);
    live_report_free(&live);
}

static void serve_answer(Serve *s, struct MHD_Connection *c, const char *path, Answer *a) {
    uint32_t seconds;
    if (strcmp(path, "/") == 0 || strcmp(path, "/debug/pprof/") == 0 ||
        strcmp(path, "/debug/pprof") == 0) {
        answer_index(s, a);
        return;
    }
    if (strcmp(path, "/debug/pprof/cmdline") == 0) {
        answer_command_line(s, a);
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (strcmp(path, routes[i].path) == 0 && has_route(s, &routes[i])) {
            if (read_seconds(c, &seconds) &&
                mhd->set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, TIMEOUT_S + seconds))
                answer_report(s, &routes[i], seconds, a);
            else
                answer_text(a, MHD_HTTP_BAD_REQUEST, "seconds: expected a number up to 3600");
            return;
        }
    answer_text(a, MHD_HTTP_NOT_FOUND, "there is no such page; / has links to all");
}

static enum MHD_Result send_answer(struct MHD_Connection *c, const Answer *a) {
    /* Only inline scripts and styles, which flame graphs contain. */
    static const char *const headers[][2] = {
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"},
    };
    struct MHD_Response *r =
        mhd->create_response_from_buffer(a->body.len, a->body.data, MHD_RESPMEM_MUST_COPY);
    if (!r)
        return MHD_NO;
    mhd->add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        mhd->add_response_header(r, headers[i][0], headers[i][1]);
    if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        mhd->add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (a->status == MHD_HTTP_SERVICE_UNAVAILABLE)
        mhd->add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (a->last)
        mhd->add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    enum MHD_Result result = mhd->queue_response(c, a->status, r);
    mhd->destroy_response(r);
    return result;
}

/* Counts a request, unless the server is about to stop. */
static bool begin_answer(Serve *s) {
    pthread_mutex_lock(&s->lock);
    bool counted = !s->ending;
    s->answering += counted;
    pthread_mutex_unlock(&s->lock);
    return counted;
}

/* States of a request. */
static int seen, counted;

/* Returns the client of a connection. */
static Client *client_of(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info =
        mhd->get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info->socket_context;
}

/* Called by microhttpd at the beginning and at the end of a connection. */
static void come_and_go(void *ctx, struct MHD_Connection *c, void **client,
                        enum MHD_ConnectionNotificationCode code) {
    Serve *s = ctx;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        *client =
            client_add(&s->clients,
                       mhd->get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    else
        client_leaves(&s->clients, *client);
}

/* Called by microhttpd when an answer has been sent, or the connection has ended. */
static void end_answer(void *ctx, struct MHD_Connection *c, void **state,
                       enum MHD_RequestTerminationCode why) {
    Serve *s = ctx;
    (void)why;
    client_idle(&s->clients, client_of(c));
    if (*state != &counted)
        return;
    pthread_mutex_lock(&s->lock);
    s->answering--;
    pthread_cond_broadcast(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

/* Returns the error at the beginning of a request, or NULL. */
static const char *unclear(struct MHD_Connection *c, void *state) {
    if (state == &unclear_target)
        return "control characters, and slashes in the path, must not be encoded";
    return state ? NULL : unclear_headers(c);
}

/* Refuses a request before its body, whose length is uncertain. */
static enum MHD_Result serve_refuse(struct MHD_Connection *c, const char *why) {
    Answer a = {0};
    answer_text(&a, MHD_HTTP_BAD_REQUEST, why);
    a.last = true;
    enum MHD_Result result = send_answer(c, &a);
    buf_free(&a.body);
    return result;
}

/* Called by microhttpd, first before the body of a request. */
static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state) {
    Serve *s = ctx;
    (void)version, (void)upload;
    const char *bad = unclear(c, *state);
    if (bad) {
        *state = &seen;
        return serve_refuse(c, bad);
    }
    if (!*state) {
        *state = &seen;
        return MHD_YES;
    }
    if (*upload_size) { /* request bodies are ignored */
        *upload_size = 0;
        return MHD_YES;
    }
    if (begin_answer(s))
        *state = &counted;
    client_working(&s->clients, client_of(c));
    Answer a = {0};
    const char *why = refusal(s, c);
    if (why)
        answer_text(&a, MHD_HTTP_FORBIDDEN, why);
    else if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        answer_text(&a, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    else
        serve_answer(s, c, url, &a);
    enum MHD_Result result = send_answer(c, &a);
    client_idle(&s->clients, client_of(c));
    buf_free(&a.body);
    return result;
}

/* ---- listening ---- */

/* Listens at the first address that works. -1: errno. */
static int listen_at(const struct addrinfo *list, Serve *s) {
    int fd = -1;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        int on = 1;
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, CONNECTIONS) != 0) {
            int error = errno;
            close(fd);
            errno = error;
            fd = -1;
        } else {
            s->loopback = is_loopback(a->ai_addr);
        }
    }
    return fd;
}

static void put_url(int fd, Buf *url) {
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    char host[256] = "", port[16] = "";
    if (getsockname(fd, (struct sockaddr *)&at, &len) == 0)
        getnameinfo((struct sockaddr *)&at, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    bool six = strchr(host, ':') != NULL;
    buf_printf(url, "http://%s%s%s:%s/", six ? "[" : "", host, six ? "]" : "", port);
}

/* Starts the server; its threads block all signals, which are for the running program. */
static struct MHD_Daemon *start_daemon(Serve *s, int fd) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct MHD_Daemon *daemon = mhd->start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL,
        NULL, handle, s, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_NOTIFY_COMPLETED, end_answer,
        s, MHD_OPTION_NOTIFY_CONNECTION, come_and_go, s, MHD_OPTION_URI_LOG_CALLBACK,
        look_at_target, NULL, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

Serve *serve_start(const ServeOptions *options, Live *live, Buf *why) {
    if (!mhd && !(mhd = late_mhd(why)))
        return NULL;
    struct addrinfo *found = find_address(options->address, why);
    if (!found)
        return NULL;
    Serve *s = mem_zalloc(sizeof *s);
    s->options = *options;
    s->live = live;
    clients_begin(&s->clients, CROWD);
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&s->answered, &steady);
    pthread_condattr_destroy(&steady);
    int fd = listen_at(found, s);
    freeaddrinfo(found);
    if (fd >= 0)
        put_url(fd, &s->url);
    if (fd >= 0 && (s->daemon = start_daemon(s, fd)))
        return s;
    buf_printf(why, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    serve_stop(s);
    return NULL;
}

const char *serve_url(const Serve *s) {
    return buf_cstr((Buf *)&s->url);
}

/* Waits until all waiting clients have their answers, but not for slow ones. */
static void answer_last(Serve *s) {
    enum { SECOND = 1000000000, MILLISECOND = 1000000 };
    struct timespec end;
    int error = 0;
    clock_gettime(CLOCK_MONOTONIC, &end);
    int64_t ns = end.tv_nsec + (int64_t)LAST_MS * MILLISECOND;
    end.tv_sec += ns / SECOND;
    end.tv_nsec = ns % SECOND;
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    while (!error && s->answering)
        error = pthread_cond_timedwait(&s->answered, &s->lock, &end);
    pthread_mutex_unlock(&s->lock);
}

void serve_stop(Serve *s) {
    if (!s)
        return;
    if (s->daemon) {
        answer_last(s);
        mhd->stop_daemon(s->daemon);
    }
    clients_end(&s->clients);
    pthread_cond_destroy(&s->answered);
    pthread_mutex_destroy(&s->lock);
    buf_free(&s->url);
    free(s);
}

#endif
