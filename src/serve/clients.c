/*
 * serve/clients.c - connections of the server.
 */
#include "serve/clients.h"

#include <assert.h>
#include <sys/socket.h>

struct Client {
    Client *older, *newer;
    int fd;
    bool working; /* its request is being answered */
    bool going;   /* its connection has been shut down */
};

void clients_begin(Clients *all, uint32_t crowd) {
    *all = (Clients){.crowd = crowd};
    pthread_mutex_init(&all->lock, NULL);
}

void clients_end(Clients *all) {
    assert(!all->oldest && !all->open);
    pthread_mutex_destroy(&all->lock);
}

static void take_out(Clients *all, Client *c) {
    *(c->older ? &c->older->newer : &all->oldest) = c->newer;
    *(c->newer ? &c->newer->older : &all->newest) = c->older;
    c->older = c->newer = NULL;
}

static void put_last(Clients *all, Client *c) {
    c->older = all->newest;
    *(all->newest ? &all->newest->newer : &all->oldest) = c;
    all->newest = c;
}

/* Shuts down the connection of the client that has been idle longest. Its thread notices, and
 * closes it. */
static void make_room(Clients *all) {
    Client *c = all->oldest;
    while (c && (c->working || c->going))
        c = c->newer;
    if (!c)
        return;
    c->going = true;
    all->open--;
    shutdown(c->fd, SHUT_RDWR);
}

Client *client_add(Clients *all, int fd) {
    Client *c = mem_zalloc(sizeof *c);
    c->fd = fd;
    pthread_mutex_lock(&all->lock);
    if (all->open >= all->crowd)
        make_room(all);
    all->open++;
    put_last(all, c);
    pthread_mutex_unlock(&all->lock);
    return c;
}

static void clients_change(Clients *all, Client *c, bool working) {
    pthread_mutex_lock(&all->lock);
    c->working = working;
    take_out(all, c);
    put_last(all, c);
    pthread_mutex_unlock(&all->lock);
}

void client_working(Clients *all, Client *c) {
    clients_change(all, c, true);
}

void client_idle(Clients *all, Client *c) {
    clients_change(all, c, false);
}

void client_leaves(Clients *all, Client *c) {
    if (!c)
        return;
    pthread_mutex_lock(&all->lock);
    all->open -= !c->going;
    take_out(all, c);
    pthread_mutex_unlock(&all->lock);
    free(c);
}
