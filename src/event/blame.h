/*
 * event/blame.h - messages about a probe whose rule matches several events: one message for each
 * mistake, which names the events if only some of them have it.
 */
#ifndef WHAMMC_EVENT_BLAME_H
#define WHAMMC_EVENT_BLAME_H

#include "event/event.h"

/* The events of one rule, and the messages of each group of events that are checked together. A
 * zeroed Blame is empty. */
typedef struct Blame {
    Vec(Event) events;
    Vec(uint32_t) group_of; /* of each event: index into `messages` */
    Vec(Diags) messages;    /* of each group */
} Blame;

/* Adds an event to a group. */
void blame_event(Blame *b, Event e, uint32_t group);

/* A new group: where its messages go until the next call. */
Diags *blame_group(Blame *b);

/* "any of the 12 instructions that this rule matches", or the event if it is one alone. */
void blame_describe(const Event *events, uint32_t n, Buf *out);

/* Adds all messages to `diags`, whose files their places point into. */
void blame_report(const Blame *b, const Rule *rule, Diags *diags);

/* Frees the groups. */
void blame_free(Blame *b);

#endif
