// Coroutines whose stacks are paged allocate and free memory at every depth.
#include "common.h"
#include <ucontext.h>

#define STACK (64 * PAGE)

static ucontext_t main_context, coroutine;
static unsigned long sum;

static void deeper(unsigned depth) {
    volatile char room[700];
    memset((char *)room, (int)depth, sizeof room);
    if (depth == 0)
        return;
    // All of the stack below is evicted, or was never touched.
    if (depth % 8 == 0)
        evict_all();
    char *block = malloc(200000 + depth * 1000);
    char *mapped = map_at(NULL, 3, RW, 0);
    CHECK(block);
    block[depth] = 1;
    mapped[depth] = 1;
    CHECK(mprotect(mapped, PAGE, PROT_NONE) == 0);
    sum += (unsigned long)(block[depth] + room[depth % 700]);
    CHECK(munmap(mapped, 3 * PAGE) == 0);
    free(block);
    deeper(depth - 1);
    CHECK(room[699] == (char)depth);
}

static void body(void) {
    deeper(120);
}

static void run(char *stack) {
    CHECK(getcontext(&coroutine) == 0);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = STACK;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, body, 0);
    CHECK(swapcontext(&main_context, &coroutine) == 0);
}

int main(void) {
    char *mapped = map_at(NULL, STACK / PAGE, RW, 0);
    run(mapped);
    CHECK(munmap(mapped, STACK) == 0);
    char *block = malloc(STACK);
    CHECK(block);
    run(block);
    free(block);
    return sum ? succeed() : 1;
}
