// Reserves far more memory than there is and hardly touches it, as allocators and language runtimes do.
#include "common.h"

#define RESERVED ((size_t)1 << 20) // pages: four GiB
#define APART 997

static char *reserve(void) {
    return map_at(NULL, RESERVED, RW, MAP_NORESERVE);
}

// Fills scattered pages, each with a different value.
static void scatter(char *at, size_t pages, unsigned seed) {
    for (size_t page = 0; page < pages; page++)
        mark(at + page * APART * PAGE, 1, seed + (unsigned)page);
}

static int is_scattered(const char *at, size_t pages, unsigned seed) {
    for (size_t page = 0; page < pages; page++)
        if (!is_marked(at + page * APART * PAGE, 1, seed + (unsigned)page))
            return 0;
    return 1;
}

int main(void) {
    char *one = reserve(), *two = reserve();
    CHECK(one != two);
    for (unsigned round = 0; round < 3; round++) {
        scatter(one, 150, round);
        scatter(two + 100 * PAGE, 150, round + 7);
        evict_all();
        CHECK(is_scattered(one, 150, round) && is_scattered(two + 100 * PAGE, 150, round + 7));
        CHECK(is_zero(one + (50 * APART + 30) * PAGE, 20));
        // Touched and untouched pages are released in the same way.
        CHECK(madvise(one, RESERVED * PAGE, MADV_DONTNEED) == 0);
        CHECK(is_zero(one + 40 * APART * PAGE, 1));
    }
    // A system call writes to untouched pages.
    int self = open("/proc/self/exe", O_RDONLY);
    CHECK(read(self, two + 900000 * PAGE, 3 * PAGE) == 3 * PAGE && memcmp(two + 900000 * PAGE, "\177ELF", 4) == 0);
    // Rights change, with pages and without.
    scatter(one, 150, 9);
    CHECK(mprotect(one, 40 * APART * PAGE, PROT_NONE) == 0);
    CHECK(faults(one, 0) && faults(one + 5 * PAGE, 0) && faults(one + 300 * PAGE, 1));
    evict_all();
    CHECK(mprotect(one, 20 * APART * PAGE, PROT_READ) == 0);
    CHECK(is_scattered(one, 20, 9) && is_zero(one + 400 * PAGE, 5) && faults(one + 500 * PAGE, 1) && faults(one, 1));
    CHECK(mprotect(one, 40 * APART * PAGE, RW) == 0);
    mark(one + 500 * PAGE, 20, 3);
    evict_all();
    CHECK(is_scattered(one, 150, 9) && is_marked(one + 500 * PAGE, 20, 3));
    // Each must still be one mapping, because it is resized as a whole.
    char *grown = mremap(one, RESERVED * PAGE, 2 * RESERVED * PAGE, MREMAP_MAYMOVE);
    CHECK(grown != MAP_FAILED && is_scattered(grown, 150, 9) && is_marked(grown + 500 * PAGE, 20, 3));
    mark(grown + 3 * RESERVED / 2 * PAGE, 5, 4);
    CHECK(mremap(grown, 2 * RESERVED * PAGE, RESERVED * PAGE, 0) == grown && is_scattered(grown, 150, 9));
    CHECK(faults(grown + RESERVED * PAGE + 7 * PAGE, 0));
    // In total far more memory than exists at a time.
    for (unsigned round = 0; round < 6; round++) {
        char *more = reserve();
        mark(more + round * PAGE, 3000, round);
        CHECK(is_marked(more + round * PAGE, 3000, round));
        CHECK(map_at(more, 100, RW, MAP_FIXED) == more && is_zero(more, 100));
        CHECK(munmap(more, RESERVED * PAGE) == 0 && faults(more, 0));
    }
    CHECK(mlock(two, 100 * PAGE) == 0 || errno == ENOMEM);
    CHECK(munlock(two, 100 * PAGE) == 0);
    CHECK(is_scattered(grown, 150, 9) && munmap(grown, RESERVED * PAGE) == 0 && munmap(two, RESERVED * PAGE) == 0);
    return succeed();
}
