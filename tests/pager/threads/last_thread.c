// A program that exits when its last thread exits, in the way of its argument. A handler that the C library calls at
// exit prints a line.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

static const char *way = "";
static pthread_t first;
static pthread_barrier_t together;

static int is(const char *word) {
    return strcmp(way, word) == 0;
}

static void at_the_end(void) {
    puts("passed");
}

// Uses paged memory, so that there are faults meanwhile.
static void use(void) {
    for (int block = 0; block < 200; block++)
        memset(malloc(4096), block, 4096);
}

static void bare_exit(long code) {
#ifdef __x86_64__
    __asm__ volatile("syscall" ::"a"(SYS_exit), "D"(code));
#else
    syscall(SYS_exit, code);
#endif
}

static void *ends(void *argument) {
    if (is("cancelled"))
        pthread_cancel(first);
    if (is("joins"))
        pthread_join(first, NULL);
    if (is("together"))
        pthread_barrier_wait(&together);
    else
        usleep(100000);
    use();
    if (is("exits"))
        pthread_exit(argument);
    if (is("bare") || is("mixed"))
        syscall(SYS_exit, 5);
    if (is("unseen"))
        bare_exit(5);
    return argument;
}

static int ends_as_standard(void *argument) {
    ends(argument);
    return 7;
}

int main(int count, char **words) {
    atexit(at_the_end);
    use();
    if (count < 2)
        return 0;
    way = words[1];
    first = pthread_self();
    int threads = is("together") ? 5 : is("alone") ? 0 : 1;
    pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
    for (int thread = 0; thread < threads; thread++) {
        pthread_t other;
        thrd_t standard;
        if (is("standard"))
            thrd_create(&standard, ends_as_standard, NULL);
        else
            pthread_create(&other, NULL, ends, NULL);
    }
    if (is("together"))
        pthread_barrier_wait(&together);
    if (is("cancelled"))
        pause();
    if (is("bare"))
        syscall(SYS_exit, 5);
    if (is("unseen"))
        bare_exit(5);
    pthread_exit(NULL);
}
