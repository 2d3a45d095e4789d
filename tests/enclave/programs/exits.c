/* Exits in the way that its argument says. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void piped(int number) { _exit(number == SIGPIPE ? 5 : 9); }

static int deep(int depth) {
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : deep(depth + 1) + room[0];
}

int main(int count, char **words) {
    const char *way = count > 1 ? words[1] : "";
    if (!strcmp(way, "code"))
        return atoi(words[2]);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "null"))
        *(volatile int *)0 = 1;
    if (!strcmp(way, "text"))
        *(volatile char *)(void *)main = 1;
    if (!strcmp(way, "jump"))
        ((void (*)(void))malloc(16))();
    if (!strcmp(way, "illegal"))
        __asm__ volatile(".word 0");
    if (!strcmp(way, "kernel"))
        printf("%d\n", *(volatile int *)0xffffffc080200000);
    if (!strcmp(way, "private"))
        printf("%d\n", *(volatile int *)0x80200000);
    if (!strcmp(way, "untrusted"))
        printf("%d\n", *(volatile int *)0xc0040000);
    if (!strcmp(way, "privileged"))
        __asm__ volatile("csrr t0, sstatus");
    if (!strcmp(way, "pipe")) {
        /* Writes until the reader is gone. */
        signal(SIGPIPE, !strcmp(words[2], "ignored") ? SIG_IGN : !strcmp(words[2], "handled") ? piped : SIG_DFL);
        while (write(1, "y\n", 2) == 2)
            ;
        return errno == EPIPE ? 6 : 8;
    }
    if (!strcmp(way, "guard")) {
        char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(pages + 4096, 4096, PROT_NONE);
        pages[0] = pages[2 * 4096] = 1;
        puts("guarded");
        fflush(stdout);
        pages[4096] = 1;
    }
    if (!strcmp(way, "unmapped")) {
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        page[0] = 1;
        munmap(page, 4096);
        page[0] = 1;
    }
    if (!strcmp(way, "stack"))
        return deep(0);
    if (!strcmp(way, "signal"))
        raise(atoi(words[2]));
    if (!strcmp(way, "memory")) {
        size_t pages = 0;
        for (char *page; (page = malloc(1 << 16)); pages += 16)
            for (int each = 0; each < 1 << 16; each += 4096)
                page[each] = 1;
        /* Standard output has no buffer yet, and there may be no room for one. */
        static const char said[] = "no memory left\n";
        return write(1, said, sizeof said - 1) == sizeof said - 1 && pages > 16 ? 7 : 8;
    }
    if (!strcmp(way, "mapping")) {
        /* More memory than there is, in one mapping. */
        return mmap(NULL, 1UL << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 7 : 8;
    }
    return 9;
}
