// Static variables of every kind have their values from before main, and keep what is written.
#include "common.h"
#include <pthread.h>

#define PAGES 600

static char zeros[PAGES * PAGE];
static char initial[40 * PAGE] = "begins with this";
static int value = 7, *pointer = &value;
static int (*function)(void) = succeed;
static __thread int own = 5;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counts[4 * 512];
static int constructed;

__attribute__((constructor)) static void construct(void) {
    constructed = value + 1;
}

static void *count(void *argument) {
    size_t thread = (size_t)argument;
    CHECK(own == 5);
    own += (int)thread;
    for (int round = 0; round < 300; round++) {
        CHECK(pthread_mutex_lock(&mutex) == 0);
        counts[thread * 512]++;
        counts[0]++;
        CHECK(pthread_mutex_unlock(&mutex) == 0);
        if (round % 16 == 0)
            (void)*(volatile char *)(zeros + (round * 7 + thread) % PAGES * PAGE);
    }
    CHECK(own == 5 + (int)thread);
    return NULL;
}

int main(void) {
    CHECK(strcmp(initial, "begins with this") == 0 && is_zero(initial + PAGE, 39));
    CHECK(constructed == 8 && *pointer == 7 && pointer == &value && is_zero(zeros, PAGES));
    for (unsigned round = 0; round < 3; round++) {
        mark(zeros, PAGES, round);
        mark(initial, 40, round + 1);
        CHECK(is_marked(zeros, PAGES, round) && is_marked(initial, 40, round + 1));
    }
    pthread_t threads[3];
    for (size_t thread = 0; thread < 3; thread++)
        CHECK(pthread_create(&threads[thread], NULL, count, (void *)(thread + 1)) == 0);
    for (size_t thread = 0; thread < 3; thread++)
        CHECK(pthread_join(threads[thread], NULL) == 0 && counts[(thread + 1) * 512] == 300);
    CHECK(counts[0] == 900 && is_marked(zeros, PAGES, 2));
    // A system call writes to pages that are not resident.
    evict_all();
    int self = open("/proc/self/exe", O_RDONLY);
    CHECK(read(self, zeros, sizeof zeros) > 0 && memcmp(zeros, "\177ELF", 4) == 0);
    return function();
}
