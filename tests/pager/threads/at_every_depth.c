// A thread maps memory, makes threads and starts programs at every depth of its stack, below which nothing was touched.
#include "deep.h"
#include <spawn.h>
#include <sys/wait.h>

#define STEP 48
#define STEPS (4 * PAGE / STEP)

extern char **environ;
static pthread_barrier_t before, after;

static void *nothing(void *argument) {
    return argument;
}

static void act(unsigned depth) {
    // Another thread faults alone until it has its own processor.
    pthread_barrier_wait(&before);
    pthread_barrier_wait(&after);
    pthread_t thread;
    char *mapped = map_at(NULL, 3, RW, 0);
    CHECK(mprotect(mapped + PAGE, PAGE, PROT_READ) == 0 && munmap(mapped, 3 * PAGE) == 0);
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    if (depth % 64 == 0) {
        char *words[] = {"true", NULL};
        pid_t child;
        int state;
        CHECK(posix_spawnp(&child, "true", NULL, NULL, words, environ) == 0);
        CHECK(waitpid(child, &state, 0) == child && state == 0);
    }
}

__attribute__((noinline)) static void step(unsigned depth) {
    volatile char room[STEP];
    room[0] = (char)depth;
    act(depth);
    if (depth)
        step(depth - 1);
    CHECK(room[0] == (char)depth);
}

static void *descend(void *argument) {
    step(STEPS);
    return argument;
}

int main(void) {
    CHECK(pthread_barrier_init(&before, NULL, 2) == 0 && pthread_barrier_init(&after, NULL, 2) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, descend, NULL) == 0);
    for (unsigned turn = 0; turn <= STEPS; turn++) {
        pthread_barrier_wait(&before);
        for (int round = 0; round < 3; round++)
            evict_all();
        pthread_barrier_wait(&after);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    return succeed();
}
