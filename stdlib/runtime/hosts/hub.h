/*
 * runtime/hosts/hub.h - what the compiler tells the hub (hub.c): data in its memory. Addresses are
 * offsets in that memory, numbers are little-endian.
 */
#ifndef WHAMMC_RUNTIME_HUB_H
#define WHAMMC_RUNTIME_HUB_H

#include <stdint.h>

enum { HUB_MAX_PATH = 4096 }; /* of the file */

/* Where the settings are; the hub's own data and stack are below. */
enum { HUB_SETTINGS = 65536 };

typedef struct HubSlot {
    uint32_t head, head_len; /* the line before reports, up to the instance; empty: none, there is only one */
} HubSlot;

typedef struct HubSettings {
    uint64_t every_ns; /* HUB_SERVES: between two reports */
    uint32_t file, file_len; /* where the report goes */
    HubSlot slots[];
} HubSettings;

static inline const HubSettings *hub_settings(void) {
    return (const HubSettings *)(uintptr_t)HUB_SETTINGS;
}

#endif
