/*
 * tests/fuzz/fuzz_values.c - fuzz target: a map of the runtime against one of the compiler, and
 * what it prints. The input is descriptions of key and value, then operations.
 */
#include "report/image.h"
#include "tests/unit/values_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct Input {
    const uint8_t *at, *end;
} Input;

static uint8_t next(Input *in) {
    return in->at < in->end ? *in->at++ : 0;
}

/* A description with at most MAX_FIELDS leaves. */
enum { MAX_FIELDS = 12 };

static void describe(Input *in, Buf *d, uint32_t *fields, uint32_t depth) {
    uint8_t kind = next(in) % (REPORT_STR + 4);
    if (kind <= REPORT_STR || depth == 4 || *fields == 0) {
        buf_u8(d, kind <= REPORT_STR ? kind : REPORT_U32);
        return;
    }
    uint32_t n = next(in) % (*fields < 4 ? *fields + 1 : 4);
    *fields -= n;
    buf_u8(d, REPORT_TUPLE);
    buf_u8(d, (uint8_t)n);
    for (uint32_t i = 0; i < n; i++)
        describe(in, d, fields, depth + 1);
}

static uint64_t leaf(Input *in, uint8_t kind) {
    uint8_t byte = next(in);
    if (kind == REPORT_STR) {
        uint32_t len = byte % 8;
        if ((uint32_t)(in->end - in->at) < len)
            len = (uint32_t)(in->end - in->at);
        in->at += len;
        return string((Str){(const char *)in->at - len, len});
    }
    return number_of_kind(kind, byte < 200   ? byte
                                : byte < 230 ? (uint64_t)byte << 56 | byte
                                             : (uint32_t)byte << 23 | byte);
}

static void operate(Input *in, uint32_t map, uint32_t type, const Buf *desc, uint32_t values,
                    bool wide, Map *model) {
    Buf key = {0};
    uint32_t n = 0;
    for (size_t i = 0; i < desc->len; i++) {
        if (desc->data[i] == REPORT_TUPLE) {
            i++;
            continue;
        }
        uint64_t v = leaf(in, desc->data[i]);
        values_key(n++, v);
        model_leaf(&key, desc->data[i], v);
    }
    bool added;
    uint64_t v = next(in);
    uint64_t *slot = map_put(model, (Str){(const char *)key.data, (uint32_t)key.len}, 0, &added);
    uint32_t at = values_map_at(map, type);
    for (uint32_t i = 0; i < values; i++) {
        if (load_leaf(at + 8 * i, wide) != (added ? 0 : *slot))
            abort();
        store_leaf(at + 8 * i, wide, v);
    }
    *slot = v;
    buf_free(&key);
}

/* The map as the row of a report. */
static void print(uint32_t map, ImageFormat format, Buf *out) {
    Image *img = image_new();
    Buf image = {0}, values = {0};
    image_script_row(
        img, image_var(img, REPORT_MAP, STR(""), STR("m"), STR("map"), STR("i32"), STR("script0")));
    buf_u64le(&values, map);
    image_finish(img, &(ImageOptions){.format = format}, &image);
    image_render(image.data, (uint32_t)image.len, values.data, out);
    buf_free(&image);
    buf_free(&values);
    image_free(img);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input in = {data, data + size};
    Buf key = {0}, value = {0}, text = {0}, again = {0};
    uint32_t fields = MAX_FIELDS;
    describe(&in, &key, &fields, 0);
    describe(&in, &value, &fields, 0);
    if (!values_native_memory(1 << 22))
        abort();
    uint32_t type = map_type(key.data, value.data), map = values_map_new();
    const uint8_t *d = value.data;
    uint32_t nv = leaves(&d);
    Map model = {0};
    for (uint32_t i = 0; in.at < in.end && i < 2000; i++)
        operate(&in, map, type, &key, nv, is_wide_value(value.data), &model);
    for (ImageFormat f = IMAGE_CSV; f <= IMAGE_CSV_RFC4180; f++) {
        text.len = again.len = 0;
        print(map, f, &text);
        print(map, f, &again);
        if (text.len != again.len || memcmp(text.data, again.data, text.len) != 0)
            abort();
    }
    values_native_memory(0);
    map_free(&model);
    buf_free(&key);
    buf_free(&value);
    buf_free(&text);
    buf_free(&again);
    return 0;
}
