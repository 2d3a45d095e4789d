// Reserves addresses first and uses them later, at places of the program's choice, as language runtimes do.
#include "common.h"

#define RESERVED ((size_t)1 << 18) // pages: a GiB, more than is paged
#define SOME ((size_t)1500)

int main(void) {
    int self = open("/proc/self/exe", O_RDONLY);
    CHECK(self >= 0);
    char *all = map_at(NULL, RESERVED, PROT_NONE, MAP_NORESERVE);
    CHECK(faults(all, 0));
    // In total far more memory than exists at a time.
    for (unsigned round = 0; round < 12; round++) {
        char *at = all + round * 5000 * PAGE;
        if (round % 2)
            CHECK(mprotect(at, SOME * PAGE, RW) == 0);
        else
            CHECK(map_at(at, SOME, RW, MAP_FIXED) == at);
        CHECK(is_zero(at, SOME));
        mark(at, SOME, round);
        CHECK(faults(at - PAGE + (round ? 0 : 2 * SOME * PAGE), 1) && faults(at + SOME * PAGE, 1));
        CHECK(is_marked(at, SOME, round));
        CHECK(madvise(at + 100 * PAGE, 100 * PAGE, MADV_DONTNEED) == 0);
        CHECK(is_zero(at + 100 * PAGE, 100) && is_marked(at, 100, round));
        // Reserved again: its content is gone.
        CHECK(map_at(at, SOME, PROT_NONE, MAP_FIXED | MAP_NORESERVE) == at);
        CHECK(faults(at, 0));
        CHECK(mprotect(at, 50 * PAGE, RW) == 0);
        CHECK(is_zero(at, 50));
        mark(at, 50, round);
        // One mapping replaces another.
        CHECK(map_at(at + 10 * PAGE, 20, RW, MAP_FIXED) == at + 10 * PAGE);
        CHECK(is_zero(at + 10 * PAGE, 20) && is_marked(at, 10, round));
        CHECK(mmap(at, 5 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, self, 0) == at);
        CHECK(memcmp(at, "\177ELF", 4) == 0);
        CHECK(mprotect(at, 2 * PAGE, RW) == 0);
        at[PAGE] = 1;
        evict_all();
        CHECK(memcmp(at, "\177ELF", 4) == 0 && at[PAGE] == 1);
        CHECK(munmap(at, 50 * PAGE) == 0);
    }
    // Paged, this is more than there is: it is refused and nothing changes.
    char *tail = all + (RESERVED / 2) * PAGE;
    int refused = mprotect(tail, RESERVED / 2 * PAGE, RW);
    if (refused) {
        CHECK(errno == ENOMEM && faults(tail, 0));
        CHECK(mprotect(tail, 4 * PAGE, RW) == 0);
    }
    mark(tail, 4, 1);
    if (refused) {
        CHECK(mmap(tail, RESERVED / 2 * PAGE, RW, PRIVATE | MAP_FIXED, -1, 0) == MAP_FAILED && errno == ENOMEM);
        CHECK(is_marked(tail, 4, 1));
    }
    // A hint to a free place is used. With MAP_FIXED_NOREPLACE a place that is not free is refused.
    CHECK(munmap(all + 100 * PAGE, 50 * PAGE) == 0);
    CHECK(map_at(all + 110 * PAGE, 10, RW, 0) == all + 110 * PAGE);
    char *elsewhere = map_at(all + 115 * PAGE, 10, RW, 0);
    CHECK(elsewhere != all + 115 * PAGE);
    CHECK(mmap(all + 115 * PAGE, PAGE, RW, PRIVATE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED && errno == EEXIST);
    CHECK(map_at(all + 130 * PAGE, 5, RW, MAP_FIXED_NOREPLACE) == all + 130 * PAGE);
    mark(all + 110 * PAGE, 10, 2);
    mark(elsewhere, 10, 3);
    mark(all + 130 * PAGE, 5, 4);
    evict_all();
    CHECK(is_marked(all + 110 * PAGE, 10, 2) && is_marked(elsewhere, 10, 3) && is_marked(all + 130 * PAGE, 5, 4));
    // Read-only first, written later.
    char *read = map_at(NULL, 8, PROT_READ, 0);
    CHECK(is_zero(read, 8));
    CHECK(mprotect(read, 8 * PAGE, RW) == 0);
    CHECK(is_zero(read, 8));
    mark(read, 8, 6);
    evict_all();
    CHECK(is_marked(read, 8, 6));
    CHECK(munmap(all, RESERVED * PAGE) == 0);
    CHECK(faults(tail, 0));
    return succeed();
}
