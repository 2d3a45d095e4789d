// Data on the stacks of threads is nowhere in the clear, and none is lost.
#include "deep.h"

#define THREADS 6

static pthread_barrier_t hidden, looked;

static void hide_here(void *number) {
    volatile char secret[SECRET];
    hide(secret, 1);
    pthread_barrier_wait(&hidden);
    pthread_barrier_wait(&looked);
    CHECK(is_hidden_at(secret, 1));
    (void)number;
}

static void *deep(void *number) {
    unsigned seed = (unsigned)(uintptr_t)number;
    // Three turns overwrite what was on the stack.
    for (unsigned turn = 0; turn < 3; turn++)
        go_down(DEEP, seed + turn, NULL, NULL);
    go_down(DEEP, seed, hide_here, number);
    return number;
}

static void *shallow(void *number) {
    hide_here(number);
    return number;
}

int main(int count, char **words) {
    CHECK(pthread_barrier_init(&hidden, NULL, THREADS + 1) == 0 && pthread_barrier_init(&looked, NULL, THREADS + 1) == 0);
    // This also allocates what the search needs.
    CHECK(in_the_clear(1) == 0);
    int wanted = count > 1 ? atoi(words[1]) : THREADS;
    pthread_t threads[THREADS];
    for (uintptr_t thread = 0; thread < THREADS; thread++)
        CHECK(pthread_create(&threads[thread], NULL, thread % 2 ? deep : shallow, (void *)thread) == 0);
    pthread_barrier_wait(&hidden);
    if (wanted >= 0)
        evict_all();
    int found = in_the_clear(1);
    fprintf(stderr, "%d in the clear\n", found);
    // A negative number skips the check: stacks in the region and beyond it are counted in the same way.
    CHECK(found == wanted || wanted < 0);
    pthread_barrier_wait(&looked);
    for (uintptr_t thread = 0; thread < THREADS; thread++) {
        void *answer;
        CHECK(pthread_join(threads[thread], &answer) == 0 && answer == (void *)thread);
    }
    return succeed();
}
