/*
 * serve/clients.h - who is connected to the server, so that clients which never finish a request,
 * or never read an answer, do not keep out others: when many are connected, the one that has been
 * idle longest has to go.
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
    Client *oldest, *newest; /* by when something last happened to them */
    uint32_t open;           /* without those that have to go */
    uint32_t crowd;          /* more than these are too many */
} Clients;

/* More than `crowd` clients at the same time are too many. */
void clients_begin(Clients *all, uint32_t crowd);
/* All of them must have left. */
void clients_end(Clients *all);

/* Somebody has connected. Shuts down the connection of another one if there are too many now;
 * never one whose request is being answered. */
Client *client_add(Clients *all, int fd);
/* The client's request has arrived, and its answer is made from now on. */
void client_working(Clients *all, Client *c);
/* The answer is there to be sent, or has been sent; now it is the client's turn. */
void client_idle(Clients *all, Client *c);
/* Frees the client; its connection is still open. NULL does nothing. */
void client_leaves(Clients *all, Client *c);

#endif
