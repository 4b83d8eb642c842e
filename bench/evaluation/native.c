/*
 * Runs a program that wasm2c 1.0.32 has made C of, with as much of WASI as programs that compute
 * need: arguments, standard output and error. PROGRAM is its header; the module is called `app`.
 */
#include PROGRAM

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Z_wasi_snapshot_preview1_instance_t {
    char **arguments;
    u32 count;
};
typedef struct Z_wasi_snapshot_preview1_instance_t Host;

enum { SUCCESS = 0, BADF = 8, SPIPE = 70 };

static Z_app_instance_t app;

static void put32(u32 address, u32 value) {
    memcpy(Z_appZ_memory(&app)->data + address, &value, sizeof value);
}

static u32 get32(u32 address) {
    u32 value;
    memcpy(&value, Z_appZ_memory(&app)->data + address, sizeof value);
    return value;
}

u32 Z_wasi_snapshot_preview1Z_args_sizes_get(Host *h, u32 count, u32 size) {
    u32 bytes = 0;
    for (u32 i = 0; i < h->count; i++)
        bytes += (u32)strlen(h->arguments[i]) + 1;
    put32(count, h->count);
    put32(size, bytes);
    return SUCCESS;
}

u32 Z_wasi_snapshot_preview1Z_args_get(Host *h, u32 list, u32 at) {
    for (u32 i = 0; i < h->count; i++) {
        u32 size = (u32)strlen(h->arguments[i]) + 1;
        put32(list + 4 * i, at);
        memcpy(Z_appZ_memory(&app)->data + at, h->arguments[i], size);
        at += size;
    }
    return SUCCESS;
}

u32 Z_wasi_snapshot_preview1Z_environ_sizes_get(Host *h, u32 count, u32 size) {
    (void)h;
    put32(count, 0);
    put32(size, 0);
    return SUCCESS;
}

u32 Z_wasi_snapshot_preview1Z_environ_get(Host *h, u32 list, u32 at) {
    (void)h, (void)list, (void)at;
    return SUCCESS;
}

u32 Z_wasi_snapshot_preview1Z_fd_write(Host *h, u32 fd, u32 vectors, u32 count, u32 written) {
    (void)h;
    u32 all = 0;
    if (fd != STDOUT_FILENO && fd != STDERR_FILENO)
        return BADF;
    for (u32 i = 0; i < count; i++) {
        u32 size = get32(vectors + 8 * i + 4);
        ssize_t done = write((int)fd, Z_appZ_memory(&app)->data + get32(vectors + 8 * i), size);
        all += done > 0 ? (u32)done : 0;
    }
    put32(written, all);
    return SUCCESS;
}

/* Files: there are only the three standard streams. */
u32 Z_wasi_snapshot_preview1Z_fd_close(Host *h, u32 fd) {
    (void)h, (void)fd;
    return BADF;
}

u32 Z_wasi_snapshot_preview1Z_fd_seek(Host *h, u32 fd, u64 offset, u32 whence, u32 result) {
    (void)h, (void)fd, (void)offset, (void)whence, (void)result;
    return SPIPE;
}

u32 Z_wasi_snapshot_preview1Z_fd_fdstat_get(Host *h, u32 fd, u32 result) {
    (void)h;
    if (fd > STDERR_FILENO)
        return BADF;
    memset(Z_appZ_memory(&app)->data + result, 0, 24);
    Z_appZ_memory(&app)->data[result] = 2; /* a character device */
    return SUCCESS;
}

u32 Z_wasi_snapshot_preview1Z_fd_prestat_get(Host *h, u32 fd, u32 result) {
    (void)h, (void)fd, (void)result;
    return BADF;
}

u32 Z_wasi_snapshot_preview1Z_fd_prestat_dir_name(Host *h, u32 fd, u32 path, u32 size) {
    (void)h, (void)fd, (void)path, (void)size;
    return BADF;
}

void Z_wasi_snapshot_preview1Z_proc_exit(Host *h, u32 status) {
    (void)h;
    exit((int)status);
}

int main(int argc, char **argv) {
    Host host = {argv, (u32)argc};
    wasm_rt_init();
    Z_app_init_module();
    Z_app_instantiate(&app, &host);
    Z_appZ__start(&app);
    return 0;
}
