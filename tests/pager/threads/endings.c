// A thousand threads exit in every way, on stacks of every size.
#include "deep.h"
#include <stdatomic.h>

enum { RETURNS, EXITS, CANCELLED, DETACHED, DETACHED_EXITS, OWN_STACK, RESERVED_STACK, HEAP_STACK, SIGNALLED, WAYS };

#define TIGHT 16384

static atomic_int ended, cleaned, waiting, handled;
static pthread_key_t key;
static int quiet[2];

static void cleanup(void *number) {
    (void)number;
    cleaned++;
}

static void destroy(void *value) {
    volatile char frame[3 * PAGE];
    mark((char *)frame, 3, (unsigned)(uintptr_t)value);
    CHECK(is_marked((char *)frame, 3, (unsigned)(uintptr_t)value));
    // The destructor sets the value again, for as long as the C library calls it.
    pthread_setspecific(key, value);
    ended++;
}

static void handle(int signal) {
    (void)signal;
    volatile char frame[2 * PAGE];
    mark((char *)frame, 2, 5);
    CHECK(is_marked((char *)frame, 2, 5));
    handled++;
}

// Uses all that a program may use of a stack of the minimum size, as measured on an empty stack.
static void *tight(void *number) {
    volatile char frame[TIGHT - 7000];
    mark((char *)frame, sizeof frame / PAGE, 9);
    CHECK(is_marked((char *)frame, sizeof frame / PAGE, 9));
    return number;
}

static void leave(void *number) {
    uintptr_t thread = (uintptr_t)number;
    char byte;
    switch (thread % WAYS) {
    case EXITS:
    case DETACHED_EXITS:
        pthread_exit(number);
    case CANCELLED:
        waiting++;
        (void)!read(quiet[0], &byte, 1);
        abort();
    case SIGNALLED:
        for (int turn = 0; turn < 3; turn++)
            CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    }
}

static void *body(void *number) {
    uintptr_t thread = (uintptr_t)number;
    CHECK(pthread_setspecific(key, (void *)(thread + 1)) == 0);
    unsigned depth = thread % 25 == 0 ? DEEP : (unsigned)(thread % 11);
    pthread_cleanup_push(cleanup, number);
    go_down(depth, (unsigned)thread, leave, number);
    pthread_cleanup_pop(1);
    return number;
}

static void end(pthread_t thread, uintptr_t number) {
    void *answer;
    if (number % WAYS == CANCELLED) {
        while (!waiting)
            sched_yield();
        waiting--;
        CHECK(pthread_cancel(thread) == 0);
    }
    CHECK(pthread_join(thread, &answer) == 0);
    CHECK(answer == (number % WAYS == CANCELLED ? PTHREAD_CANCELED : (void *)number));
}

int main(int count, char **words) {
    uintptr_t all = count > 1 ? (uintptr_t)atoi(words[1]) : 1000;
    CHECK(pthread_key_create(&key, destroy) == 0 && pipe(quiet) == 0);
    struct sigaction action = {.sa_handler = handle};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    char *own = map_at(NULL, 2 * DEEP, RW, MAP_STACK), *reserved = map_at(NULL, 2 * DEEP, RW, MAP_NORESERVE);
    // The first and the last page of the heap's stack contain other data too.
    char *heap = malloc(2 * DEEP * PAGE + 2 * PAGE);
    CHECK(heap);
    hide(heap, 2), hide(heap + 2 * DEEP * PAGE + 1504, 3);
    char *stacks[] = {[OWN_STACK] = own, [RESERVED_STACK] = reserved, [HEAP_STACK] = heap + 1504};
    enum { TOGETHER = 5 };
    pthread_t threads[TOGETHER];
    uintptr_t numbers[TOGETHER];
    for (uintptr_t number = 0; number < all; number += TOGETHER) {
        int living = 0;
        for (uintptr_t next = number; next < number + TOGETHER && next < all; next++) {
            pthread_attr_t attributes;
            CHECK(pthread_attr_init(&attributes) == 0);
            pthread_t thread;
            uintptr_t way = next % WAYS;
            // Stacks of many sizes, so that stacks of exited threads are reused; and guards.
            size_t sizes[] = {0, 2 * DEEP * PAGE, 3 * DEEP * PAGE, 1 << 23};
            if (sizes[next % 4])
                CHECK(pthread_attr_setstacksize(&attributes, sizes[next % 4]) == 0);
            if (next % 3 == 0)
                CHECK(pthread_attr_setguardsize(&attributes, next % 7 * 3000) == 0);
            if (way == DETACHED || way == DETACHED_EXITS)
                CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
            if (way == OWN_STACK || way == RESERVED_STACK || way == HEAP_STACK)
                CHECK(pthread_attr_setstack(&attributes, stacks[way], 2 * DEEP * PAGE) == 0);
            CHECK(pthread_create(&thread, &attributes, body, (void *)next) == 0);
            CHECK(pthread_attr_destroy(&attributes) == 0);
            if (way != DETACHED && way != DETACHED_EXITS)
                threads[living] = thread, numbers[living++] = next;
        }
        while (living-- > 0)
            end(threads[living], numbers[living]);
    }
    evict_all();
    CHECK(is_hidden_at(heap, 2) && is_hidden_at(heap + 2 * DEEP * PAGE + 1504, 3));
    free(heap);
    for (int turn = 0; turn < 20; turn++) {
        pthread_attr_t attributes;
        pthread_t thread;
        CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, TIGHT) == 0);
        CHECK(pthread_create(&thread, &attributes, tight, NULL) == 0 && pthread_join(thread, NULL) == 0);
    }
    // Each value was destroyed four times.
    while ((uintptr_t)ended < 4 * all)
        sched_yield();
    CHECK((uintptr_t)cleaned == all && handled >= (int)(all / WAYS) * 3);
    return succeed();
}
