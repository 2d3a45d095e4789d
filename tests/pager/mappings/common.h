// Helpers for the programs of this folder.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL
#define RW (PROT_READ | PROT_WRITE)
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)

// Exits with 1 unless the condition is true.
#define CHECK(what)                                                                       \
    do {                                                                                  \
        if (!(what)) {                                                                    \
            fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #what, errno); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

__attribute__((unused)) static char *map_at(void *at, size_t pages, int protection, int flags) {
    char *mapped = mmap(at, pages * PAGE, protection, PRIVATE | flags, -1, 0);
    CHECK(mapped != MAP_FAILED);
    return mapped;
}

// Fills each page of a run with a different value.
__attribute__((unused)) static void mark(char *at, size_t pages, unsigned seed) {
    for (size_t page = 0; page < pages; page++)
        memset(at + page * PAGE, (int)(seed + page * 7 + 1) & 0xff, PAGE);
}

__attribute__((unused)) static int is_marked(const char *at, size_t pages, unsigned seed) {
    for (size_t page = 0; page < pages; page++)
        for (size_t byte = 0; byte < PAGE; byte += 61)
            if (at[page * PAGE + byte] != (char)((seed + page * 7 + 1) & 0xff))
                return 0;
    return 1;
}

__attribute__((unused)) static int is_zero(const char *at, size_t pages) {
    for (size_t byte = 0; byte < pages * PAGE; byte++)
        if (at[byte])
            return 0;
    return 1;
}

// Touches enough other memory to evict all pages of the program.
__attribute__((unused)) static void evict_all(void) {
    enum { PAGES = 96 };
    static volatile char *other;
    if (!other)
        other = map_at(NULL, PAGES, RW, 0);
    for (size_t page = 0; page < PAGES; page++)
        other[page * PAGE]++;
}

static sigjmp_buf escaped;
static void *volatile touched;

static void escape(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    touched = info->si_addr;
    siglongjmp(escaped, 1);
}

// Returns whether a touch causes a SIGSEGV at that address.
__attribute__((unused)) static int faults(volatile char *at, int store) {
    struct sigaction mine = {.sa_sigaction = escape, .sa_flags = SA_SIGINFO}, before;
    CHECK(sigaction(SIGSEGV, &mine, &before) == 0);
    volatile int faulted = 0;
    touched = NULL;
    if (sigsetjmp(escaped, 1))
        faulted = touched == (void *)at;
    else if (store)
        *at = 1;
    else
        (void)*at;
    CHECK(sigaction(SIGSEGV, &before, NULL) == 0);
    return faulted;
}

static inline int succeed(void) {
    puts("passed");
    return 0;
}
