/* Handles signals in the way that its argument says, and prints what happened. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static volatile int times;
static sigjmp_buf again;
static char *pages;

/* A handler may use all registers. */
static void use_registers(void) { __asm__ volatile("fmv.d.x ft0, zero\n fscsr zero" ::: "ft0"); }

/* Stores to a page, and returns whether the floating-point registers are unchanged. */
static int store(volatile char *page) {
    long number = 0x1234567, status = 0x21, number_after, status_after;
    __asm__ volatile("fmv.d.x ft0, %2\n fscsr %3\n sb %2, 0(%4)\n fmv.x.d %0, ft0\n frcsr %1\n fscsr zero"
                     : "=&r"(number_after), "=&r"(status_after)
                     : "r"(number), "r"(status), "r"(page)
                     : "ft0", "memory");
    return number == number_after && status == status_after;
}

static void count(int signal, siginfo_t *info, void *context) {
    (void)context;
    use_registers();
    times++;
    if (signal != SIGUSR1 || info->si_signo != SIGUSR1 || info->si_pid != getpid())
        _exit(9);
}

static void jump(int signal) {
    (void)signal;
    siglongjmp(again, 1);
}

static void give_page(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    char *page = (char *)((unsigned long)info->si_addr & -PAGE);
    if (info->si_code != SEGV_ACCERR || mprotect(page, PAGE, PROT_READ | PROT_WRITE))
        _exit(9);
    use_registers();
    times++;
}

static void skip(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *was = context;
    if ((unsigned long)info->si_addr != was->uc_mcontext.__gregs[REG_PC])
        _exit(9);
    was->uc_mcontext.__gregs[REG_PC] += 4;
    times++;
}

static void speak(int signal) {
    static const char said[] = "handled\n";
    if (write(1, said, sizeof said - 1) != sizeof said - 1 || signal == SIGSEGV)
        _exit(signal == SIGSEGV ? 5 : 9);
}

static void handle(int signal, int flags, void (*one)(int), void (*other)(int, siginfo_t *, void *)) {
    struct sigaction action = {.sa_flags = flags};
    if (other)
        action.sa_sigaction = other;
    else
        action.sa_handler = one;
    if (sigaction(signal, &action, NULL))
        exit(8);
}

static int deep(int depth) {
    volatile char room[PAGE];
    room[0] = (char)depth;
    return depth < 0 ? 0 : deep(depth + 1) + room[0];
}

/* The sum of a loop. It is right if the registers are restored after each signal. */
static double sum(int rounds, int raises) {
    double one = 1, two = 2, three = 3;
    for (int round = 0; round < rounds; round++) {
        one += two * 0.25;
        if (raises)
            raise(SIGUSR1);
        two += three * 0.5;
        three = one - two;
    }
    return one + two + three;
}

int main(int number, char **words) {
    const char *way = number > 1 ? words[1] : "";
    if (!strcmp(way, "raise")) {
        handle(SIGUSR1, SA_SIGINFO, NULL, count);
        double right = sum(20, 0);
        printf("%s %d\n", sum(20, 1) == right ? "right" : "wrong", times);
    } else if (!strcmp(way, "blocked")) {
        handle(SIGUSR1, SA_SIGINFO, NULL, count);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGUSR1);
        int before = times;
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        printf("%d %d\n", before, times);
    } else if (!strcmp(way, "mapped")) {
        /* The program may use the highest hole of its memory before and after a handler runs. */
        handle(SIGUSR1, SA_SIGINFO, NULL, count);
        int access = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
        char *highest = mmap(NULL, PAGE, access, kind, -1, 0);
        munmap(highest, PAGE);
        raise(SIGUSR1);
        int taken = mmap(highest, PAGE, access, kind | MAP_FIXED_NOREPLACE, -1, 0) == highest;
        memset(highest, 0, PAGE);
        raise(SIGUSR1);
        printf("%d %d\n", taken, times);
    } else if (!strcmp(way, "jump")) {
        handle(SIGSEGV, 0, jump, NULL);
        for (volatile int round = 0; round < 50; round++)
            if (!sigsetjmp(again, 1))
                *(volatile int *)0 = 1;
            else
                times++;
        printf("%d\n", times);
    } else if (!strcmp(way, "pages")) {
        /* The program's own paging: the first touch of a page gives it its rights. */
        handle(SIGSEGV, SA_SIGINFO, NULL, give_page);
        pages = mmap(NULL, 40 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int right = 0;
        for (int round = 0; round < 3; round++)
            for (int page = 0; page < 40; page++)
                right += store(pages + page * PAGE);
        printf("%d %d\n", right, times);
    } else if (!strcmp(way, "skip")) {
        handle(SIGILL, SA_SIGINFO, NULL, skip);
        for (int round = 0; round < 3; round++)
            __asm__ volatile(".word 0");
        printf("%d\n", times);
    } else if (!strcmp(way, "stack")) {
        stack_t other = {.ss_sp = malloc(4 * PAGE), .ss_size = 4 * PAGE};
        sigaltstack(&other, NULL);
        handle(SIGSEGV, SA_ONSTACK, speak, NULL);
        return deep(0);
    } else if (!strcmp(way, "nowhere")) {
        /* The handler would run on the stack that has just overflowed. */
        handle(SIGSEGV, 0, speak, NULL);
        return deep(0);
    } else if (!strcmp(way, "abort")) {
        handle(SIGABRT, 0, speak, NULL);
        abort();
    } else if (!strcmp(way, "lost")) {
        /* There is no stack at all. */
        handle(SIGILL, 0, speak, NULL);
        handle(SIGSEGV, 0, speak, NULL);
        __asm__ volatile("li sp, 0\n.word 0");
    } else {
        return 7;
    }
    return 0;
}
