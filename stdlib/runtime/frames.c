/*
 * runtime/frames.c - the values of frame variables while the functions that have them are left, to
 * be called again later: a stack of values for each stack of functions.
 */
#include "frames.h"
#include "memory.h"

/* A stack of values; the one used last is the first of the list. */
typedef struct FrameStack {
    uint32_t next; /* address, 0 = none */
    uint32_t id;   /* an empty one is anybody's */
    uint32_t len;  /* more than `room` if there was no memory: these values are lost */
    uint32_t room;
    uint32_t values; /* address, 0 = none */
} FrameStack;

enum { FIRST_ROOM = 16 };

INLINE FrameStack *stack_at(uint32_t address) {
    return (FrameStack *)(void *)at(address);
}

static void move_to_front(uint32_t before, uint32_t found) {
    if (!before)
        return;
    stack_at(before)->next = stack_at(found)->next;
    stack_at(found)->next = V->frames;
    V->frames = found;
}

/* The stack with this number, or NULL. */
static FrameStack *find(uint32_t id) {
    uint32_t before = 0, s = V->frames;
    while (s && (!stack_at(s)->len || stack_at(s)->id != id)) {
        before = s;
        s = stack_at(s)->next;
    }
    if (!s)
        return NULL;
    move_to_front(before, s);
    return stack_at(s);
}

/* An empty stack, which gets this number, or NULL. */
static FrameStack *begin(uint32_t id) {
    uint32_t before = 0, s = V->frames;
    while (s && stack_at(s)->len) {
        before = s;
        s = stack_at(s)->next;
    }
    if (s) {
        move_to_front(before, s);
    } else {
        s = values_mem_alloc(sizeof(FrameStack));
        if (!s)
            return NULL;
        *stack_at(s) = (FrameStack){V->frames, 0, 0, 0, 0};
        V->frames = s;
    }
    stack_at(s)->id = id;
    return stack_at(s);
}

static void grow(FrameStack *s) {
    uint32_t room = s->room ? 2 * s->room : FIRST_ROOM, values = values_mem_alloc(8 * room);
    if (!values)
        return;
    for (uint32_t i = 0; i < s->len; i++)
        set64(values + 8 * i, get64(s->values + 8 * i));
    values_mem_free(s->values);
    s->values = values;
    s->room = room;
}

VALUES_EXPORT(frame_push)
void frame_push(uint32_t id, uint64_t value) {
    FrameStack *s = find(id);
    if (!s)
        s = begin(id);
    if (!s)
        return;
    if (s->len == s->room)
        grow(s);
    if (s->len < s->room)
        set64(s->values + 8 * s->len, value);
    s->len++;
}

VALUES_EXPORT(frame_pop)
uint64_t frame_pop(uint32_t id) {
    FrameStack *s = find(id);
    if (!s)
        return 0;
    s->len--;
    return s->len < s->room ? get64(s->values + 8 * s->len) : 0;
}
