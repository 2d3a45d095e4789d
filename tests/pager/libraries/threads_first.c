// A library that starts a thread before the program starts. The thread uses variables.
#include <pthread.h>
#include <sched.h>

static volatile unsigned long counted[64 * 512];
static volatile int ends;
static pthread_t thread;

static void *count(void *argument) {
    for (unsigned long turn = 0; !ends; turn++) {
        counted[turn % 64 * 512] += 1;
        counted[1] += 1;
        if (turn % 64 == 0)
            sched_yield();
    }
    return argument;
}

__attribute__((constructor)) static void begin(void) {
    pthread_create(&thread, 0, count, 0);
    while (!counted[1])
        sched_yield();
}

int lost(void) {
    ends = 1;
    pthread_join(thread, 0);
    unsigned long sum = 0;
    for (int at = 0; at < 64; at++)
        sum += counted[at * 512];
    return sum != counted[1];
}
