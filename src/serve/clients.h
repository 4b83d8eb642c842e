/*
 * serve/clients.h - limits the connections of the server, so that clients that never finish a
 * request, or never read an answer, do not keep out others: when many are connected, the one that
 * has been idle longest is disconnected.
 */
#ifndef WHAMMC_SERVE_CLIENTS_H
#define WHAMMC_SERVE_CLIENTS_H

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>

/* One connection. */
typedef struct Client Client;

/* Thread-safe, between clients_begin and clients_end. */
typedef struct Clients {
    pthread_mutex_t lock;    /* of all below */
    Client *oldest, *newest; /* by the time of their last activity */
    uint32_t open;           /* the number of clients, without those being disconnected */
    uint32_t crowd;          /* the maximum of `open` */
} Clients;

/* Allows at most `crowd` clients at the same time. */
void clients_begin(Clients *all, uint32_t crowd);
/* Ends the list; all clients must have left. */
void clients_end(Clients *all);

/* Adds a new client. If there are too many now, shuts down the connection of another one, but never
 * while its request is being answered. */
Client *client_add(Clients *all, int fd);
/* Notes that the client's request has arrived, and that its answer is being made. */
void client_working(Clients *all, Client *c);
/* Notes that the answer is ready or sent, so that the next action is the client's. */
void client_idle(Clients *all, Client *c);
/* Frees the client; its connection is still open. NULL does nothing. */
void client_leaves(Clients *all, Client *c);

#endif
