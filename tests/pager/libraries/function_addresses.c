// Takes the addresses of functions. In a program at fixed addresses all libraries then call them through the program's
// own table.
#include "../mappings/common.h"
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static char zeros[300 * PAGE];
static void *(*volatile copy)(void *, const void *, size_t);
static void *(*volatile move)(void *, const void *, size_t);
static void *(*volatile set)(void *, int, size_t);
static int (*volatile compare)(const void *, const void *, size_t);
static int (*volatile wait_for)(struct pollfd *, nfds_t, int);
static int (*volatile yield)(void);
static ssize_t (*volatile get)(int, void *, size_t);
static ssize_t (*volatile put)(int, const void *, size_t);
static int (*volatile control)(int, unsigned long, ...);
static int (*volatile advise)(void *, size_t, int);
static long (*volatile call)(long, ...);

// In code, because the dynamic linker would resolve an address in a variable.
static void take(void) {
    copy = memcpy;
    move = memmove;
    set = memset;
    compare = memcmp;
    wait_for = poll;
    yield = sched_yield;
    get = read;
    put = write;
    control = ioctl;
    advise = madvise;
    call = syscall;
}

int main(void) {
    take();
    for (unsigned round = 0; round < 4; round++) {
        mark(zeros, 300, round);
        CHECK(is_marked(zeros, 300, round));
    }
    copy(zeros, "one", 4), move(zeros + 1, zeros, 4), set(zeros + 9, 0, 3);
    CHECK(compare(zeros, "oone", 5) == 0 && wait_for(NULL, 0, 0) == 0 && yield() == 0);
    CHECK(get(-1, zeros, 1) < 0 && put(-1, zeros, 1) < 0 && control(-1, 0) < 0 && call(SYS_getpid) == getpid());
    CHECK(advise(zeros, 0, MADV_NORMAL) == 0 || errno == EINVAL);
    return succeed();
}
