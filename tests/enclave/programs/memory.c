/* Fills memory with numbers that depend on their addresses, in a scattered order, and checks them. Then it moves the
 * memory and checks them again. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#define PAGES 40
#define WORDS 512
#define BYTES (PAGES * WORDS * sizeof(unsigned long))
/* One word of so many is written; the others stay zero. */
#define EVERY 37

typedef unsigned long Page[WORDS];

static unsigned long expected(int page, int word, int round) {
    if (word % EVERY)
        return 0;
    unsigned long number = (page * WORDS + word + round) * 0xff51afd7ed558ccdUL;
    return number ^ number >> 33;
}

static int is_right(Page *pages, int page, int round) {
    for (int word = 0; word < WORDS; word++)
        if (pages[page][word] != expected(page, word, round))
            return 0;
    return 1;
}

int main(void) {
    Page *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 2; round++) {
        for (int nth = 0; nth < PAGES; nth++) {
            int page = (nth * 17 + round) % PAGES;
            for (int word = 0; word < WORDS; word += EVERY)
                pages[page][word] = expected(page, word, round);
        }
        for (int nth = 0; nth < PAGES; nth++)
            if (!is_right(pages, (nth * 23 + 5) % PAGES, round))
                return 2;
    }
    void *to = (char *)pages - 3 * BYTES;
    Page *moved = mremap(pages, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    for (int page = 0; page < PAGES; page++)
        if (moved != to || !is_right(moved, page, 1))
            return 3;
    puts("right");
    return 7;
}
