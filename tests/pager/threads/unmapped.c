// Files that are mapped where the C library has unmapped stacks keep their content.
#include "deep.h"

#define THREADS 24 // more than the number of stacks that the C library caches
#define MAPPINGS 200
#define BYTES ((size_t)1 << 20)

static pthread_barrier_t all;

static void *deep(void *argument) {
    go_down(60, 1, NULL, NULL);
    pthread_barrier_wait(&all);
    return argument;
}

int main(void) {
    FILE *file = tmpfile();
    CHECK(file && ftruncate(fileno(file), BYTES) == 0 && pthread_barrier_init(&all, NULL, THREADS) == 0);
    char *before[THREADS];
    pthread_t threads[THREADS];
    for (int round = 0; round < 3; round++) {
        for (int thread = 0; thread < THREADS; thread++) {
            CHECK(pthread_create(&threads[thread], NULL, deep, NULL) == 0);
            before[thread] = (char *)threads[thread];
        }
        for (int thread = 0; thread < THREADS; thread++)
            CHECK(pthread_join(threads[thread], NULL) == 0);
        char *mapped[MAPPINGS];
        int there = 0;
        for (int mapping = 0; mapping < MAPPINGS; mapping++) {
            mapped[mapping] = mmap(NULL, BYTES, RW, MAP_PRIVATE, fileno(file), 0);
            CHECK(mapped[mapping] != MAP_FAILED);
            mark(mapped[mapping], BYTES / PAGE, (unsigned)mapping);
            for (int thread = 0; thread < THREADS; thread++)
                there += before[thread] > mapped[mapping] && before[thread] < mapped[mapping] + BYTES;
        }
        CHECK(there > THREADS / 2);
        evict_all();
        for (int mapping = 0; mapping < MAPPINGS; mapping++) {
            CHECK(is_marked(mapped[mapping], BYTES / PAGE, (unsigned)mapping));
            CHECK(munmap(mapped[mapping], BYTES) == 0);
        }
    }
    return succeed();
}
