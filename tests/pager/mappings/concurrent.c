// Threads store and load while others protect and unmap: no store is lost, and no touch waits for ever.
#include "common.h"
#include <pthread.h>

#define THREADS 3
#define PAGES 24
#define ROUNDS 400

static char *shared;
static volatile int ended;
static volatile unsigned long counts[THREADS][PAGES];
static __thread sigjmp_buf *volatile escape_to;

// The page may be protected at the moment: the touch is repeated.
static void again(int signal) {
    (void)signal;
    if (escape_to)
        siglongjmp(*escape_to, 1);
    _exit(3);
}

static void *counter(void *argument) {
    size_t thread = (size_t)argument;
    sigjmp_buf here;
    for (volatile unsigned round = 0; !ended; round++) {
        volatile size_t page = (round * 7 + thread) % PAGES;
        volatile unsigned long *count = (volatile unsigned long *)(shared + page * PAGE) + thread;
        escape_to = &here;
        if (sigsetjmp(here, 1) == 0) {
            unsigned long seen = *count;
            CHECK(seen == counts[thread][page]);
            *count = seen + 1;
            escape_to = NULL;
            counts[thread][page]++;
        }
        escape_to = NULL;
    }
    return NULL;
}

static void *mapper(void *unused) {
    for (unsigned round = 0; !ended; round++) {
        char *mine = map_at(NULL, 1 + round % 17, RW, 0);
        mark(mine, 1 + round % 17, round);
        CHECK(is_marked(mine, 1 + round % 17, round));
        CHECK(munmap(mine, (1 + round % 17) * PAGE) == 0);
    }
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_handler = again};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    shared = map_at(NULL, PAGES, RW, 0);
    pthread_t threads[THREADS + 1];
    for (size_t thread = 0; thread < THREADS; thread++)
        CHECK(pthread_create(&threads[thread], NULL, counter, (void *)thread) == 0);
    CHECK(pthread_create(&threads[THREADS], NULL, mapper, NULL) == 0);
    static const int protections[] = {PROT_NONE, PROT_READ, RW, RW | PROT_EXEC};
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t first = round * 5 % PAGES, pages = 1 + round % (PAGES - first);
        CHECK(mprotect(shared + first * PAGE, pages * PAGE, protections[round % 4]) == 0);
        if (round % 8 == 7)
            CHECK(mprotect(shared, PAGES * PAGE, RW) == 0);
    }
    CHECK(mprotect(shared, PAGES * PAGE, RW) == 0);
    ended = 1;
    for (size_t thread = 0; thread <= THREADS; thread++)
        CHECK(pthread_join(threads[thread], NULL) == 0);
    for (size_t thread = 0; thread < THREADS; thread++)
        for (size_t page = 0; page < PAGES; page++)
            CHECK(((volatile unsigned long *)(shared + page * PAGE))[thread] == counts[thread][page]);
    return succeed();
}
