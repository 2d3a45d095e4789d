// A thread makes its first calls with the end of the touched part of its stack at any offset in a page.
#include "deep.h"
#include <alloca.h>
#include <sys/wait.h>

#define THREADS 1024
#define STEP 16
#define ALONE 300

static pthread_barrier_t before, after;

// Another thread first faults alone, so often that it is bound to a processor.
static int is_alone_first(unsigned number) {
    return number % 16 == 0;
}

static void start(void) {
    pid_t child = vfork();
    if (child == 0)
        _exit(7);
    int state;
    CHECK(waitpid(child, &state, 0) == child && WEXITSTATUS(state) == 7);
}

static void *ask(void *argument) {
    unsigned number = (unsigned)(uintptr_t)argument;
    volatile char *skipped = alloca(number * STEP % PAGE + 1);
    skipped[0] = 1;
    if (is_alone_first(number)) {
        pthread_barrier_wait(&before);
        pthread_barrier_wait(&after);
        start();
    }
    char *mapped = map_at(NULL, 3, RW, 0);
    CHECK(mprotect(mapped + PAGE, PAGE, PROT_READ) == 0 && munmap(mapped, 3 * PAGE) == 0);
    CHECK(skipped[0] == 1);
    return argument;
}

int main(void) {
    CHECK(pthread_barrier_init(&before, NULL, 2) == 0 && pthread_barrier_init(&after, NULL, 2) == 0);
    for (unsigned number = 0; number < THREADS; number++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, ask, (void *)(uintptr_t)number) == 0);
        if (is_alone_first(number)) {
            pthread_barrier_wait(&before);
            char *mapped = map_at(NULL, ALONE, RW, 0);
            mark(mapped, ALONE, number);
            CHECK(munmap(mapped, ALONE * PAGE) == 0);
            pthread_barrier_wait(&after);
        }
        CHECK(pthread_join(thread, NULL) == 0);
    }
    return succeed();
}
