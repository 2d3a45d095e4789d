"""The kernel's own uses of paged memory: it holds references, walks lists, and reads and writes directly."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_programs import faults

# Each program exits with 0, or prints a line with the error.
BEGINNING = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <netinet/in.h>
#include <unistd.h>
#define PAGE 4096
#define MUST(what) do { if (!(what)) { printf("%s: %s\n", #what, strerror(errno)); exit(1); } } while (0)
static char *pages(int count) {
    char *at = mmap(0, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(at != MAP_FAILED);
    return at;
}
/* Evicts all resident pages, and fills every page that becomes resident with a secret. */
static void churn(void) {
    static char *secrets;
    if (!secrets) secrets = pages(200);
    for (int round = 0; round < 2; round++)
        for (int page = 0; page < 200; page++) memset(secrets + page * PAGE, 's', PAGE);
}
static void must_be(const char *at, char expected, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != expected) { printf("byte %zu is '%c', not '%c'\n", i, at[i], expected); exit(1); }
}
"""


@pytest.fixture
def compiled(tmp_path):
    """Compiles a program in C."""

    def make(source: str, *flags: str) -> Path:
        text, program = tmp_path / "program.c", tmp_path / "program"
        text.write_text(BEGINNING + source)
        subprocess.run(["cc", "-O1", "-pthread", *flags, "-o", program, text], check=True)
        return program

    return make


def answers_as_unpaged(page_run, program: Path, *words: str | Path, flags: tuple[str, ...] = ()) -> str:
    """Runs a program unpaged and paged. Both must exit with 0. Returns the report of `ameles`."""
    unpaged = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=60)
    assert unpaged.returncode == 0, unpaged.stdout + unpaged.stderr
    paged = page_run(["--resident", "15", *flags], program, *words)
    assert (paged.returncode, paged.stdout) == (0, unpaged.stdout), paged.stdout + paged.stderr
    assert faults(paged.stderr)[1] > 100, paged.stderr
    return paged.stderr


VMSPLICE = r"""
int main(int count, char **words) {
    int ends[2];
    MUST(pipe(ends) == 0);
    for (int begin = 0; begin < 60; begin++) {
        char *lent = pages(2), got[2 * PAGE];
        memset(lent, 'a', 2 * PAGE);
        struct iovec both = {lent, 2 * PAGE};
        MUST(vmsplice(ends[1], &both, 1, 0) == 2 * PAGE);
        if (begin % 2) {
            /* The reader still gets what was there; the next owner of these addresses shares nothing with it. */
            MUST(munmap(lent, 2 * PAGE) == 0);
            lent = pages(2);
            memset(lent, 's', 2 * PAGE);
        }
        if (begin % 3) churn();
        if (begin % 2 == 0) must_be(lent, 'a', 2 * PAGE);
        MUST(read(ends[0], got, sizeof got) == sizeof got);
        must_be(got, 'a', sizeof got);
        MUST(munmap(lent, 2 * PAGE) == 0);
    }
    return 0;
}
"""


@pytest.mark.parametrize("flags", [(), ("--second-chance", "5"), ("--scheme", "plain")])
def test_a_page_in_a_pipe_keeps_its_content_until_it_is_read(page_run, compiled, flags):
    answers_as_unpaged(page_run, compiled(VMSPLICE), flags=flags)


ZEROCOPY = r"""
#define SENT 64
int main(void) {
    int one = 1, small = 4096, door = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof here;
    MUST(setsockopt(door, SOL_SOCKET, SO_RCVBUF, &small, sizeof small) == 0);
    MUST(bind(door, (void *)&here, len) == 0 && listen(door, 1) == 0);
    MUST(getsockname(door, (void *)&here, &len) == 0);
    int large = 4 << 20;
    MUST(setsockopt(to, SOL_SOCKET, SO_SNDBUF, &large, sizeof large) == 0);
    MUST(setsockopt(to, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof one) == 0);
    MUST(connect(to, (void *)&here, len) == 0);
    int from = accept(door, 0, 0);
    MUST(from >= 0);
    char *lent = pages(SENT), got[PAGE];
    for (int page = 0; page < SENT; page++) memset(lent + page * PAGE, 'A' + page % 26, PAGE);
    MUST(send(to, lent, SENT * PAGE, MSG_ZEROCOPY) == SENT * PAGE);
    churn();
    for (int page = 0; page < SENT; page++) {
        for (int done = 0; done < PAGE;) {
            int more = recv(from, got + done, PAGE - done, 0);
            MUST(more > 0);
            done += more;
        }
        must_be(got, 'A' + page % 26, PAGE);
        must_be(lent + page * PAGE, 'A' + page % 26, PAGE);
    }
    return 0;
}
"""


def test_a_zero_copy_send_sends_the_original_content(page_run, compiled):
    answers_as_unpaged(page_run, compiled(ZEROCOPY))


def test_a_direct_read_may_be_larger_than_the_resident_memory(page_run, tool, tmp_path):
    # Each transfer pins all of its pages at once.
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(bytes(range(251)) * (3 * (1 << 20) // 251) + bytes(1 << 20))
    source.write_bytes(source.read_bytes()[: 3 << 20])
    words = [f"if={source}", f"of={target}", "bs=1M", "iflag=direct", "oflag=direct"]
    probe = subprocess.run([tool("dd"), *words], capture_output=True, text=True, check=False)
    if "Invalid argument" in probe.stderr:
        pytest.skip("the file system of the temporary folder has no direct reads")
    target.unlink()
    for flags in [[], ["--second-chance", "5"], ["--scheme", "path"]]:
        paged = page_run(["--resident", "15", *flags], tool("dd"), *words)
        assert paged.returncode == 0, paged.stderr
        assert target.read_bytes() == source.read_bytes()
        target.unlink()


FUTEX = r"""
#include <linux/futex.h>
int main(void) {
    int *woken = (int *)pages(1), *changed = (int *)pages(1);
    for (int round = 0; round < 30; round++) {
        *changed = 0;
        churn();
        int set = FUTEX_OP(FUTEX_OP_SET, 7, FUTEX_OP_CMP_EQ, 0);
        MUST(syscall(SYS_futex, woken, FUTEX_WAKE_OP_PRIVATE, 1, 1, changed, set) == 0);
        MUST(*changed == 7);
        churn();
        /* Nobody holds it: the kernel makes us its owner. */
        *changed = 0;
        churn();
        MUST(syscall(SYS_futex, changed, FUTEX_LOCK_PI_PRIVATE, 0, 0) == 0);
        churn();
        MUST(syscall(SYS_futex, changed, FUTEX_UNLOCK_PI_PRIVATE, 0) == 0);
    }
    return 0;
}
"""


def test_operations_on_futexes_reach_absent_pages(page_run, compiled):
    answers_as_unpaged(page_run, compiled(FUTEX))


ROBUST = r"""
#include <pthread.h>
struct page { pthread_mutex_t mutex; char rest[PAGE - sizeof(pthread_mutex_t)]; } *held;
static pthread_barrier_t all_hold;
static void *leaves(void *how) {
    for (int i = 0; i < 3; i++) MUST(pthread_mutex_lock(&held[i].mutex) == 0);
    MUST(pthread_mutex_unlock(&held[1].mutex) == 0);
    pthread_barrier_wait(&all_hold);
    churn();
    if (how) pthread_exit(0);
    return 0;
}
static void *waits(void *mutex) {
    return (void *)(long)pthread_mutex_lock(mutex);
}
int main(void) {
    for (long how = 0; how < 2; how++) {
        pthread_mutexattr_t robust;
        pthread_t holder, waiter;
        void *got;
        held = (struct page *)pages(3);
        MUST(pthread_mutexattr_init(&robust) == 0);
        MUST(pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) == 0);
        for (int i = 0; i < 3; i++) MUST(pthread_mutex_init(&held[i].mutex, &robust) == 0);
        MUST(pthread_barrier_init(&all_hold, 0, 2) == 0);
        MUST(pthread_create(&holder, 0, leaves, (void *)how) == 0);
        pthread_barrier_wait(&all_hold);
        MUST(pthread_create(&waiter, 0, waits, &held[0].mutex) == 0);
        MUST(pthread_join(holder, 0) == 0);
        MUST(pthread_join(waiter, &got) == 0);
        MUST((long)got == EOWNERDEAD);
        MUST(pthread_mutex_lock(&held[1].mutex) == 0);
        MUST(pthread_mutex_lock(&held[2].mutex) == EOWNERDEAD);
        MUST(pthread_mutex_consistent(&held[2].mutex) == 0 && pthread_mutex_unlock(&held[2].mutex) == 0);
    }
    return 0;
}
"""


def test_a_robust_mutex_of_an_exited_thread_is_handed_on(page_run, compiled):
    answers_as_unpaged(page_run, compiled(ROBUST))


ERRNO = r"""
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
static void nothing(int signal) { (void)signal; }
/* Threads that wait for one another within `free`, and are interrupted there. */
static void *frees(void *none) {
    static _Thread_local char *kept[400];
    for (int round = 0; round < 8000; round++) {
        char **one = &kept[round * 7 % 400];
        errno = 77;
        free(*one);
        MUST(errno == 77);
        *one = malloc(100 + round % 50 * 100);
        MUST(*one);
        **one = 1;
    }
    return none;
}
int main(void) {
    pthread_t threads[4];
    struct sigaction action = {.sa_handler = nothing};
    struct itimerval often = {{0, 500}, {0, 500}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    churn();
    MUST(sigaction(SIGALRM, &action, 0) == 0 && setitimer(ITIMER_REAL, &often, 0) == 0);
    for (int i = 0; i < 4; i++) MUST(pthread_create(&threads[i], 0, frees, 0) == 0);
    MUST(pthread_sigmask(SIG_BLOCK, &alarm, 0) == 0);
    for (int i = 0; i < 4; i++) MUST(pthread_join(threads[i], 0) == 0);
    return 0;
}
"""


def test_free_leaves_errno_alone(page_run, compiled):
    answers_as_unpaged(page_run, compiled(ERRNO))


@pytest.mark.parametrize("how", ["close_range(3, ~0U, 0)", "for (int fd = 3; fd < 1024; fd++) syscall(SYS_close, fd)"])
def test_a_program_that_closes_every_descriptor_keeps_its_memory(compiled, page_run, how):
    program = compiled(
        r"""
        int main(void) {
            char *at = pages(1000);
            for (int page = 0; page < 1000; page++) memset(at + page * PAGE, 'a' + page %% 26, PAGE);
            %s;
            for (int round = 0; round < 3; round++)
                for (int page = 0; page < 1000; page++) must_be(at + page * PAGE, 'a' + page %% 26, PAGE);
            return 0;
        }
        """
        % how
    )
    answers_as_unpaged(page_run, program)
