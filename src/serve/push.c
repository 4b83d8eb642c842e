/*
 * serve/push.c - sending profiles to a collector.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "serve/push.h"

#ifdef HAVE_HTTP

#include "base/escape.h"
#include "serve/late.h"

#include <assert.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { SECOND = 1000000000 }; /* nanoseconds */

struct Push {
    PushOptions options;
    LiveTimer timer;
    Buf url;       /* without the times */
    Buf before;    /* the last report that was accepted */
    int64_t since; /* when it was made, nanoseconds since 1970 */
    bool failing;  /* the last profile was rejected, and that was reported */
};

static const LateCurl *curl; /* once there is a URL */

static int64_t push_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void push_tell_failure(Push *p, const char *why) {
    if (!p->failing)
        p->options.failed(p->options.ctx, why);
    p->failing = true;
}

/* ---- the URL ---- */

/* Parses the URL; its path defaults to /ingest. On failure returns NULL and appends a message to
 * `why`. */
static CURLU *parse(const char *url, Buf *why) {
    if (!curl && !(curl = late_curl(why)))
        return NULL;
    CURLU *u = curl->url();
    char *scheme = NULL, *path = NULL;
    CURLUcode error = curl->url_set(u, CURLUPART_URL, url, 0);
    bool good = !error && !curl->url_get(u, CURLUPART_SCHEME, &scheme, 0) &&
                (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
                !curl->url_get(u, CURLUPART_PATH, &path, 0) &&
                (strcmp(path, "/") != 0 || !curl->url_set(u, CURLUPART_PATH, "/ingest", 0));
    curl->free(scheme);
    curl->free(path);
    if (good)
        return u;
    buf_printf(why, "expected a URL such as http://localhost:4040 (%s)",
               error ? curl->url_strerror(error) : "the scheme is not http or https");
    curl->url_cleanup(u);
    return NULL;
}

bool push_check(const char *url, Buf *why) {
    CURLU *u = parse(url, why);
    if (u)
        curl->url_cleanup(u);
    return u != NULL;
}

static bool push_has_name(CURLU *u) {
    char *query = NULL;
    bool found = !curl->url_get(u, CURLUPART_QUERY, &query, 0) &&
                 (strncmp(query, "name=", strlen("name=")) == 0 || strstr(query, "&name="));
    curl->free(query);
    return found;
}

/* Appends "&key=value", escaped as in forms. */
static void put_query(CURLU *u, const char *text) {
    curl->url_set(u, CURLUPART_QUERY, text, CURLU_APPENDQUERY | CURLU_URLENCODE);
}

/* Appends the program's name without ".wasm", and its labels: "app{thread=3}". */
static void push_put_name(CURLU *u, const ServedProgram *program) {
    Buf name = {0};
    size_t len = strlen(program->title);
    const char *dot = strrchr(program->title, '.');
    buf_printf(&name, "name=%.*s",
               (int)(dot && dot != program->title ? (size_t)(dot - program->title) : len),
               program->title);
    const char *separator = "{";
    for (const char *const *label = program->labels; label && *label; label++, separator = ",")
        buf_printf(&name, "%s%s", separator, *label);
    if (*separator == ',')
        buf_str(&name, STR("}"));
    put_query(u, buf_cstr(&name));
    buf_free(&name);
}

static bool make_url(Push *p, Buf *why) {
    CURLU *u = parse(p->options.url, why);
    if (!u)
        return false;
    char *url = NULL;
    curl->url_set(u, CURLUPART_FRAGMENT, NULL,
                  0); /* a fragment is not sent, and would end the query */
    if (!push_has_name(u))
        push_put_name(u, &p->options.of);
    put_query(u, "format=pprof");
    put_query(u, "spyName=whammc");
    CURLUcode error = curl->url_get(u, CURLUPART_URL, &url, 0);
    if (error)
        buf_printf(why, "%s", curl->url_strerror(error));
    else
        buf_printf(&p->url, "%s", url);
    curl->free(url);
    curl->url_cleanup(u);
    return !error;
}

/* ---- the description of values ---- */

static bool unpack(const Buf *zipped, Buf *out) {
    enum { GZIP = 16, ROOM = 1 << 16 };
    z_stream z = {.next_in = zipped->data, .avail_in = (uInt)zipped->len};
    int status = inflateInit2(&z, MAX_WBITS + GZIP);
    while (status == Z_OK) {
        buf_reserve(out, ROOM);
        z.next_out = out->data + out->len;
        z.avail_out = ROOM;
        status = inflate(&z, Z_NO_FLUSH);
        out->len += ROOM - z.avail_out;
    }
    inflateEnd(&z);
    return status == Z_STREAM_END;
}

/* A field of a message (format/pprof.c). */
typedef struct Field {
    uint32_t id;
    uint64_t number; /* or: */
    Str bytes;
} Field;

/* Takes a number, in LEB128, from the beginning of a message. */
static bool take_number(Str *message, uint64_t *n) {
    *n = 0;
    for (uint32_t shift = 0; message->len && shift < 64; shift += 7) {
        uint8_t byte = (uint8_t)*message->ptr++;
        message->len--;
        *n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Takes the next field; false at the end. */
static bool take_field(Str *message, Field *f) {
    enum { KIND_BYTES = 2 };
    uint64_t tag, size;
    if (!take_number(message, &tag))
        return false;
    *f = (Field){.id = (uint32_t)(tag >> 3)};
    if ((tag & 7) != KIND_BYTES)
        return take_number(message, &f->number);
    if (!take_number(message, &size) || size > message->len)
        return false;
    f->bytes = (Str){message->ptr, (uint32_t)size};
    message->ptr += size;
    message->len -= (uint32_t)size;
    return true;
}

/* The kinds of numbers in a profile, by the indices of their texts, and the texts. */
typedef struct Kind {
    uint64_t name, unit;
} Kind;
typedef struct Kinds {
    Vec(Kind) all;
    Vec(Str) texts;
} Kinds;

static void read_kinds(const Buf *profile, Kinds *k) {
    enum { SAMPLE_TYPE = 1, STRING_TABLE = 6, TYPE = 1 };
    Str message = buf_view(profile);
    for (Field f, part; take_field(&message, &f);) {
        if (f.id == STRING_TABLE)
            vec_push(&k->texts, f.bytes);
        if (f.id != SAMPLE_TYPE)
            continue;
        vec_add(&k->all);
        while (take_field(&f.bytes, &part))
            *(part.id == TYPE ? &vec_last(&k->all).name : &vec_last(&k->all).unit) = part.number;
    }
}

/* Appends {"time":{"units":"nanoseconds","display-name":"time","aggregation":"sum"}}: collectors
 * drop undescribed values. */
static void push_describe(const Buf *profile, Buf *out) {
    Buf plain = {0};
    Kinds k = {0};
    if (unpack(profile, &plain))
        read_kinds(&plain, &k);
    buf_str(out, STR("{"));
    for (uint32_t i = 0; i < k.all.len; i++) {
        assert(k.all.at[i].name < k.texts.len && k.all.at[i].unit < k.texts.len); /* it is ours */
        Str name = k.texts.at[k.all.at[i].name], unit = k.texts.at[k.all.at[i].unit];
        buf_str(out, i ? STR(",") : STR(""));
        escape_json_string(out, name);
        buf_str(out, STR(":{\"units\":"));
        escape_json_string(out, str_is(unit, "count") ? STR("objects") : unit);
        buf_str(out, STR(",\"display-name\":"));
        escape_json_string(out, name);
        buf_str(out, STR(",\"aggregation\":\"sum\"}"));
    }
    buf_str(out, STR("}"));
    vec_free(&k.all);
    vec_free(&k.texts);
    buf_free(&plain);
}

/* ---- sending ---- */

/* Keeps only the first bytes of the response, for the message about a rejection. */
static size_t keep_answer(char *bytes, size_t one, size_t n, void *ctx) {
    enum { LONGEST = 200 };
    Buf *answer = ctx;
    size_t room = answer->len < LONGEST ? LONGEST - answer->len : 0;
    buf_bytes(answer, bytes, n < room ? n : room);
    return one * n;
}

static void push_add_part(curl_mime *form, const char *name, const char *file, const char *type,
                          const Buf *bytes) {
    curl_mimepart *part = curl->mime_addpart(form);
    curl->mime_name(part, name);
    curl->mime_filename(part, file);
    curl->mime_type(part, type);
    curl->mime_data(part, (const char *)bytes->data, bytes->len);
}

static void set_up(CURL *c, const char *url, curl_mime *form, Buf *answer) {
    enum { CONNECT_S = 5, WHOLE_S = 10 };
    curl->easy_setopt(c, CURLOPT_URL, url);
    curl->easy_setopt(c, CURLOPT_MIMEPOST, form);
    curl->easy_setopt(c, CURLOPT_USERAGENT, "whammc");
    curl->easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
    curl->easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl->easy_setopt(c, CURLOPT_TIMEOUT, (long)WHOLE_S);
    curl->easy_setopt(c, CURLOPT_WRITEFUNCTION, keep_answer);
    curl->easy_setopt(c, CURLOPT_WRITEDATA, answer);
}

typedef enum Answer { ACCEPTED, REFUSED, LATER } Answer; /* LATER: it may be accepted then */

/* Posts a form; if it is rejected, `why` gets the reason. */
static Answer post(Push *p, const char *url, const Buf *profile) {
    Buf answer = {0}, types = {0}, why = {0};
    long status = 0;
    CURL *c = curl->easy_init();
    curl_mime *form = curl->mime_init(c);
    push_describe(profile, &types);
    push_add_part(form, "profile", "profile.pprof", "application/octet-stream", profile);
    push_add_part(form, "sample_type_config", "sample_type_config.json", "application/json",
                  &types);
    set_up(c, url, form, &answer);
    CURLcode error = curl->easy_perform(c);
    curl->easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
    enum { TOO_MANY_REQUESTS = 429 };
    bool ok = !error && status / 100 == 2;
    bool later = !error && (status / 100 == 5 || status == TOO_MANY_REQUESTS);
    if (error) {
        buf_printf(&why, "%s", curl->easy_strerror(error));
    } else if (!ok) {
        buf_printf(&why, "the answer is status %ld%s", status, answer.len ? ": " : "");
        escape_shown(&why, buf_view(&answer));
    }
    if (!ok)
        push_tell_failure(p, buf_cstr(&why));
    curl->mime_free(form);
    curl->easy_cleanup(c);
    buf_free(&answer);
    buf_free(&types);
    buf_free(&why);
    return ok ? ACCEPTED : later ? LATER : REFUSED;
}

/* Sends the profile up to a report; if it is accepted, the next profile begins there. */
static Answer push_profile(Push *p, const Buf *text, int64_t time) {
    const ServedProgram *of = &p->options.of;
    Answer got = REFUSED;
    Buf profile = {0}, url = {0};
    const ServedView view = {WHAMMC_REPORT_PPROF, NULL, !of->times};
    const Buf *before = p->before.len && of->times ? &p->before : NULL;
    WhammcReport *report = served_report(of, text, before);
    if (served_write(of, report, &view, time, &profile)) {
        buf_printf(&url, "%s&from=%lld&until=%lld", buf_cstr(&p->url),
                   (long long)(p->since / SECOND), (long long)(time / SECOND));
        got = post(p, buf_cstr(&url), &profile);
        if (got == ACCEPTED) {
            p->before.len = 0;
            buf_bytes(&p->before, text->data, text->len);
            p->since = time;
            p->failing = false;
        }
    } else {
        push_tell_failure(p, whammc_report_messages(report, 0));
    }
    whammc_report_free(report);
    buf_free(&profile);
    buf_free(&url);
    return got;
}

static void push_taken(void *ctx, const LiveReport *report) {
    push_profile(ctx, &report->text, report->time);
}

static void free_push(Push *p) {
    buf_free(&p->url);
    buf_free(&p->before);
    free(p);
}

Push *push_start(const PushOptions *options, Live *live, Buf *why) {
    Push *p = mem_zalloc(sizeof *p);
    *p = (Push){.options = *options,
                .timer = {.live = live, .seconds = options->seconds, .on = push_taken, .ctx = p},
                .since = push_now()};
    if (make_url(p, why) && live_timer_start(&p->timer, why))
        return p;
    free_push(p);
    return NULL;
}

void push_finish(Push *p, const Buf *report) {
    if (!p)
        return;
    enum { TRIES = 4 };
    int64_t end = push_now();
    live_timer_end(&p->timer);
    for (int i = 0; report->len && i < TRIES && push_profile(p, report, end) == LATER; i++)
        sleep(1);
    free_push(p);
}

#endif
