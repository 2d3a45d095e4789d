/* Oblivious demand paging for C: memory of which only a few pages are resident, the rest sealed behind an oblivious RAM.
 *
 * Build the library with `cargo rustc -p ameles-pager --release --crate-type cdylib` (or staticlib).
 * Functions may be called from any thread. None of them may be called from a signal handler. */
#ifndef AMELES_PAGER_H
#define AMELES_PAGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a page. */
#define AMELES_PAGE_BYTES 4096

typedef struct ameles_region ameles_region;

/* What a region is made with. Begin with ameles_options_default; a null name is the default too. */
typedef struct ameles_options {
    uint64_t pages;           /* 1 to 2^32 - 1 */
    uint64_t resident;        /* pages that are resident at most: at least 1 */
    uint64_t untrusted_bytes; /* the most untrusted memory that may be used */
    uint64_t ratio;           /* K of detworam and its kin: at least 1 */
    uint64_t unmapped;        /* resident pages that are given a second chance; 0: first in, first out */
    uint64_t threads;         /* threads of the parallel schemes; 0: the machine's processors, at most K + 1 */
    const char *scheme;       /* plain, detworam, eager, parallel, eager-parallel, path, opam */
    const char *cipher;       /* aes-256-gcm, chacha20-hmac-sha256, aegis-256x2, aegis-256x4 */
    const char *trap;         /* handler-thread, in-thread (then no system call may touch the region) */
    uint64_t second_process;  /* not 0: a process beside this one works for the eager and parallel schemes */
    uint64_t together;        /* not 0: while one thread faults, it and the handler thread are bound to one processor */
} ameles_options;

/* What was counted so far; times in nanoseconds. */
typedef struct ameles_counters {
    uint64_t faults;
    uint64_t evictions;
    uint64_t soft_faults;
    uint64_t repeated;
    uint64_t idle_steps;
    uint64_t total_nanos;
    uint64_t frames_nanos;
    uint64_t write_nanos;
    uint64_t read_nanos;
    uint64_t idle_nanos;
    uint64_t held_pages;     /* pages that hold something now */
    uint64_t max_held_pages; /* the most pages that ever held something at once */
    uint64_t max_resident;   /* the limit of resident pages now, if it follows held_pages; else 0 */
} ameles_counters;

/* The defaults for a region of so many pages. */
ameles_options ameles_options_default(uint64_t pages);

/* A region of zeros, or null: then `error` holds why, cut to `error_bytes` with its final zero byte. `error` may be null.
 * A page that was tampered with ends the process at its next touch, with one line on standard error. */
ameles_region *ameles_region_new(const ameles_options *options, char *error, size_t error_bytes);

/* The first byte of the region. */
void *ameles_region_address(const ameles_region *region);

/* How long it is, in bytes. */
size_t ameles_region_bytes(const ameles_region *region);

/* Gives up the contents of pages that nobody uses: they read as zeros from now on. Returns 0, or -1 if the pages lie
 * beyond the region; then nothing has changed. */
int ameles_region_discard(const ameles_region *region, uint64_t first_page, uint64_t pages);

/* What was counted so far. */
ameles_counters ameles_region_counters(const ameles_region *region);

/* The file with the untrusted memory, for a watcher. It belongs to the region: do not close it. */
int ameles_region_untrusted_fd(const ameles_region *region);

/* Takes the region back. Nobody may use its memory any more. Null is ignored. */
void ameles_region_free(ameles_region *region);

#ifdef __cplusplus
}
#endif

#endif
