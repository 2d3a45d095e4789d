/* Makes system calls with arguments at the edge of their range, and prints the answers, which equal those of Linux. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define IS_PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define ACCESS (PROT_READ | PROT_WRITE)

static char room[2 * PAGE];
/* Volatile, so that the compiler does not know them. */
static char *volatile nowhere = NULL;
static volatile size_t negative = -1, huge = (size_t)1 << 62;
static volatile int too_many = IOV_MAX + 1;

static void say(const char *what, long answer) {
    if (answer < 0)
        dprintf(2, "%s: %s\n", what, strerrorname_np(errno));
    else
        dprintf(2, "%s: %ld\n", what, answer);
}

#define SAY(answer) (errno = 0, say(#answer, (long)(answer)))

static void writes_and_reads(void) {
    int none = 0;
    struct iovec some[] = {{room, 4}, {room, negative}}, bad = {nowhere, 4}, empty = {nowhere, 0};
    SAY(write(1, room, 0));
    SAY(write(1, nowhere, 0));
    SAY(write(1, nowhere, 5));
    SAY(write(1, room, negative));
    SAY(write(0, room, 5));
    SAY(write(77, nowhere, 5));
    SAY(read(0, room, 0));
    SAY(read(0, nowhere, 5));
    SAY(read(0, room, negative));
    SAY(read(1, room, 5));
    SAY(writev(1, some, 2));
    SAY(writev(1, some, 0));
    SAY(writev(1, some, (int)negative));
    SAY(writev(1, some, too_many));
    SAY(writev(1, (void *)nowhere, 1));
    SAY(writev(1, (void *)nowhere, none));
    SAY(writev(1, &bad, 1));
    SAY(writev(1, &empty, 1));
    SAY(readv(0, some, 2));
    SAY(readv(0, &bad, 1));
    SAY(readv(1, some, 0));
}

static void holes(void) {
    char *at = mmap(NULL, 4 * PAGE, ACCESS, IS_PRIVATE, -1, 0);
    memset(at, 5, 4 * PAGE);
    munmap(at + PAGE, PAGE);
    SAY(mprotect(at, 4 * PAGE, PROT_READ));
    SAY(read(0, at, 1));
    at[2 * PAGE] = 6;
    SAY(madvise(at, 3 * PAGE, MADV_DONTNEED));
    say("before the hole", at[0]);
    say("behind it", at[2 * PAGE]);
    say("behind what was named", at[3 * PAGE]);
    SAY(mprotect(at, negative, PROT_READ));
    SAY(mmap(NULL, PAGE, ACCESS, IS_PRIVATE | MAP_SHARED, -1, 0) == MAP_FAILED);
    SAY(mmap((void *)-PAGE, PAGE, ACCESS, IS_PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED);
    SAY(write(1, room, huge));
    SAY(syscall(SYS_tgkill, -1, getpid(), 0));
}

static void descriptors(void) {
    char folder[100];
    SAY(dup(1));
    SAY(dup3(1, 9, O_CLOEXEC));
    SAY(fcntl(9, F_GETFD));
    SAY(dup3(1, 1, 0));
    SAY(dup2(1, 1));
    SAY(dup2(77, 5));
    SAY(dup3(1, 5, 1));
    SAY(dup2(1, -1));
    SAY(fcntl(1, F_DUPFD, 20));
    SAY(fcntl(1, F_DUPFD_CLOEXEC, 20));
    SAY(fcntl(1, F_DUPFD, -1));
    SAY(fcntl(21, F_SETFD, 0));
    SAY(fcntl(21, F_GETFD));
    SAY(fcntl(1, F_GETFL) & O_ACCMODE);
    SAY(close(9));
    SAY(close(9));
    SAY(write(9, room, 1));
    SAY(syscall(SYS_getcwd, folder, 1));
    SAY(syscall(SYS_getcwd, nowhere, 100));
    SAY(syscall(SYS_getpgid, 1 << 29));
    SAY(getpgid(0) == getpgrp());
    SAY(getsid(0) > 0);
}

static void memory(void) {
    char *from = mmap(NULL, 16 * PAGE, ACCESS, IS_PRIVATE, -1, 0), *to = from + 8 * PAGE;
    SAY(mmap(NULL, PAGE, ACCESS, MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    SAY(mmap(NULL, PAGE, ACCESS, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0);
    SAY(mmap(NULL, 0, ACCESS, IS_PRIVATE, -1, 0) == MAP_FAILED ? -1 : 0);
    strcpy(from, "first");
    strcpy(from + PAGE, "second");
    munmap(from + 2 * PAGE, 6 * PAGE);
    SAY(mremap(from, 2 * PAGE, 2 * PAGE, MREMAP_FIXED, to) == MAP_FAILED ? -1 : 0);
    SAY(mremap(from, 2 * PAGE, 2 * PAGE, MREMAP_FIXED | MREMAP_MAYMOVE, from + PAGE) == MAP_FAILED ? -1 : 0);
    SAY(mremap(from, 2 * PAGE, 2 * PAGE, MREMAP_FIXED | MREMAP_MAYMOVE, to + 1) == MAP_FAILED ? -1 : 0);
    SAY(mremap(from, 2 * PAGE, 0, MREMAP_FIXED | MREMAP_MAYMOVE, to) == MAP_FAILED ? -1 : 0);
    SAY(mremap(from, 2 * PAGE, 3 * PAGE, MREMAP_FIXED | MREMAP_MAYMOVE, to) == to);
    SAY(strcmp(to, "first") || strcmp(to + PAGE, "second") || to[2 * PAGE]);
    SAY(write(1, from, 5));
    SAY(mremap(to, 3 * PAGE, PAGE, MREMAP_FIXED | MREMAP_MAYMOVE, from) == from);
    SAY(strcmp(from, "first"));
    SAY(write(1, to, 5));
    SAY(write(1, to + 3 * PAGE, 0));
}

static void random_and_signals(void) {
    SAY(getrandom(room, 16, 0));
    SAY(getrandom(room, 16, GRND_NONBLOCK | GRND_RANDOM));
    SAY(getrandom(room, 16, 8));
    SAY(getrandom(room, 16, GRND_RANDOM | 4));
    SAY(getrandom(nowhere, 16, 0));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    sigemptyset(&set);
    SAY(sigpending(&set));
    SAY(sigismember(&set, SIGUSR1));
    SAY(sigismember(&set, SIGUSR2));
    SAY(syscall(SYS_rt_sigpending, &set, 9));
    SAY(syscall(SYS_rt_sigpending, nowhere, 8));
}

int main(void) {
    writes_and_reads();
    descriptors();
    memory();
    holes();
    random_and_signals();
    return 0;
}
