// A forbidden access is a SIGSEGV, an allowed one works, and no data is lost, whether or not the pages are resident.
#include "common.h"

static void kept_through(char *at, size_t pages, int protection, unsigned seed) {
    CHECK(mprotect(at, pages * PAGE, protection) == 0);
    CHECK(faults(at + 3, 1) == !(protection & PROT_WRITE));
    if (protection & PROT_WRITE)
        at[3] = at[4];
    if (protection != PROT_NONE)
        CHECK(is_marked(at, pages, seed));
    CHECK(faults(at + pages / 2 * PAGE, 0) == (protection == PROT_NONE));
    evict_all();
    CHECK(faults(at + 3, 1) == !(protection & PROT_WRITE));
    if (protection & PROT_WRITE)
        at[3] = at[4];
    if (protection != PROT_NONE)
        CHECK(is_marked(at, pages, seed));
    CHECK(mprotect(at, pages * PAGE, RW) == 0);
    CHECK(is_marked(at, pages, seed));
}

static void every_protection(char *at, size_t pages) {
    static const int all[] = {PROT_NONE, PROT_READ, RW, PROT_READ | PROT_EXEC, RW | PROT_EXEC};
    for (unsigned round = 0; round < 3; round++)
        for (unsigned which = 0; which < sizeof all / sizeof *all; which++) {
            mark(at, pages, round + which);
            if (round == 1)
                evict_all();
            kept_through(at, pages, all[which], round + which);
            // From one protection to another, without a write in between, and only in the middle.
            for (unsigned next = 0; next < sizeof all / sizeof *all; next++) {
                CHECK(mprotect(at + PAGE, (pages - 2) * PAGE, all[which]) == 0);
                if (round == 2)
                    evict_all();
                CHECK(mprotect(at + PAGE, (pages - 2) * PAGE, all[next]) == 0);
                if (round == 1)
                    evict_all();
            }
            CHECK(mprotect(at, pages * PAGE, RW) == 0);
            CHECK(is_marked(at, pages, round + which));
        }
}

static void given_up_while_forbidden(char *at, size_t pages) {
    mark(at, pages, 9);
    CHECK(mprotect(at, pages * PAGE, PROT_NONE) == 0);
    CHECK(madvise(at, 2 * PAGE, MADV_DONTNEED) == 0);
    evict_all();
    CHECK(madvise(at + 2 * PAGE, PAGE, MADV_DONTNEED) == 0);
    CHECK(mprotect(at, pages * PAGE, RW) == 0);
    CHECK(is_zero(at, 3));
    CHECK(at[3 * PAGE] == (char)(9 + 21 + 1));
}

static void code(char *at) {
#ifdef __x86_64__
    static const unsigned char returns_42[] = {0xb8, 42, 0, 0, 0, 0xc3};
    memcpy(at, returns_42, sizeof returns_42);
    int (*function)(void);
    memcpy(&function, &at, sizeof at);
    CHECK(mprotect(at, PAGE, PROT_READ | PROT_EXEC) == 0);
    CHECK(function() == 42);
    evict_all();
    CHECK(function() == 42);
    CHECK(mprotect(at, PAGE, RW | PROT_EXEC) == 0);
    for (int value = 0; value < 50; value++) {
        at[1] = (char)value;
        evict_all();
        CHECK(function() == value);
    }
    CHECK(mprotect(at, PAGE, RW) == 0);
#else
    (void)at;
#endif
}

int main(void) {
    char *at = map_at(NULL, 20, RW, 0);
    every_protection(at, 20);
    given_up_while_forbidden(at, 20);
    code(at);
    // Memory of the allocator.
    void *block;
    CHECK(posix_memalign(&block, PAGE, 12 * PAGE) == 0);
    every_protection(block, 12);
    given_up_while_forbidden(block, 12);
    CHECK(mprotect(block, PAGE, PROT_READ) == 0);
    CHECK(mprotect(block, PAGE, RW) == 0);
    free(block);
    // An unmapped or unaligned range is refused as usual.
    CHECK(mprotect(at + 1, PAGE, PROT_READ) == -1 && errno == EINVAL);
    CHECK(munmap(at + 5 * PAGE, PAGE) == 0);
    CHECK(faults(at + 5 * PAGE, 0));
    CHECK(mprotect(at, 20 * PAGE, PROT_READ) == -1 && errno == ENOMEM);
    CHECK(mprotect(at, 5 * PAGE, 1 << 20) == -1 && errno == EINVAL);
    CHECK(munmap(at, 20 * PAGE) == 0);
    return succeed();
}
