/*
 * base/json.c - scans JSON.
 */
#include "base/json.h"

void json_blanks(Json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n'))
        j->at++;
}

bool json_char(Json *j, char c) {
    json_blanks(j);
    if (j->at == j->end || *j->at != c)
        return false;
    j->at++;
    return true;
}

static bool json_hex4(Json *j, uint32_t *code) {
    *code = 0;
    if (j->end - j->at < 4)
        return false;
    for (uint32_t i = 0; i < 4; i++) {
        char c = *j->at++, low = (char)(c | 0x20);
        bool letter = low >= 'a' && low <= 'f';
        if (!letter && (c < '0' || c > '9'))
            return false;
        *code = *code << 4 | (uint32_t)(letter ? low - 'a' + 10 : c - '0');
    }
    return true;
}

static char *utf8_put(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
    } else if (c < 0x800) {
        *to++ = (char)(0xc0 | c >> 6);
        *to++ = (char)(0x80 | (c & 0x3f));
    } else {
        if (c < 0x10000) {
            *to++ = (char)(0xe0 | c >> 12);
        } else {
            *to++ = (char)(0xf0 | c >> 18);
            *to++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (c >> 6 & 0x3f));
        *to++ = (char)(0x80 | (c & 0x3f));
    }
    return to;
}

/* After a backslash; appends to *to, never more bytes than were read. */
static bool json_escape(Json *j, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end)
        return false;
    char c = *j->at++;
    if (c != 'u') {
        const char *found = c ? strchr(from, c) : NULL;
        if (!found)
            return false;
        *(*to)++ = into[found - from];
        return true;
    }
    uint32_t code, low;
    if (!json_hex4(j, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && j->end - j->at >= 6 && j->at[0] == '\\' &&
        j->at[1] == 'u') {
        j->at += 2;
        if (!json_hex4(j, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    *to = utf8_put(*to, code);
    return true;
}

bool json_string(Json *j, Str *s) {
    const char *start = j->at;
    while (j->at < j->end && *j->at != '"' && *j->at != '\\')
        j->at++;
    if (j->at < j->end && *j->at == '"') {
        *s = (Str){start, (uint32_t)(j->at++ - start)};
        return true;
    }
    const char *close = j->at; /* room for the decoded string: up to the closing quote */
    while (close < j->end && *close != '"')
        close += *close == '\\' && close + 1 < j->end ? 2 : 1;
    if (close >= j->end)
        return false;
    char *copy = arena_alloc(j->arena, (size_t)(close - start) + 1), *to = copy;
    memcpy(to, start, (size_t)(j->at - start));
    to += j->at - start;
    while (j->at < close) {
        if (*j->at != '\\')
            *to++ = *j->at++;
        else if (j->at++, !json_escape(j, &to))
            return false;
    }
    j->at = close + 1;
    *s = (Str){copy, (uint32_t)(to - copy)};
    return true;
}

/* An array or object; *s is its text. */
static bool json_nested(Json *j, Str *s) {
    const char *start = j->at;
    uint32_t depth = 0;
    for (bool in_string = false; j->at < j->end; j->at++) {
        char c = *j->at;
        if (in_string && c == '\\' && j->at + 1 < j->end)
            j->at++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '[' || c == '{'))
            depth++;
        else if (!in_string && (c == ']' || c == '}') && --depth == 0)
            break;
    }
    if (j->at == j->end)
        return false;
    j->at++;
    *s = (Str){start, (uint32_t)(j->at - start)};
    return true;
}

bool json_value(Json *j, Str *s) {
    json_blanks(j);
    if (j->at < j->end && *j->at == '"') {
        j->at++;
        return json_string(j, s);
    }
    if (j->at < j->end && (*j->at == '[' || *j->at == '{'))
        return json_nested(j, s);
    const char *start = j->at;
    while (j->at < j->end && !strchr(",}] \t\r\n", *j->at))
        j->at++;
    *s = (Str){start, (uint32_t)(j->at - start)};
    if (str_is(*s, "null"))
        *s = (Str){NULL, 0};
    return !s->ptr || s->len;
}

bool json_member(Json *j, const char *name) {
    Str key;
    return json_char(j, '"') && json_string(j, &key) && str_is(key, name) && json_char(j, ':');
}

bool json_integer(Json *j, uint64_t *v) {
    Str text;
    uint64_t sum = 0;
    if (!json_value(j, &text) || !text.len)
        return false;
    bool negative = text.ptr[0] == '-';
    if (text.len == negative)
        return false;
    for (uint32_t i = negative; i < text.len; i++) {
        uint32_t digit = (uint32_t)(uint8_t)text.ptr[i] - '0';
        if (digit > 9 || sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *v = negative ? 0 - sum : sum;
    return true;
}

bool json_object(Json *j, const char *const *names, uint32_t n, Str *values) {
    if (!json_char(j, '{'))
        return false;
    do {
        Str key, value;
        if (!json_char(j, '"') || !json_string(j, &key) || !json_char(j, ':') ||
            !json_value(j, &value))
            return false;
        for (uint32_t i = 0; i < n; i++)
            if (str_is(key, names[i]))
                values[i] = value;
    } while (json_char(j, ','));
    if (!json_char(j, '}'))
        return false;
    json_blanks(j);
    return j->at == j->end;
}
