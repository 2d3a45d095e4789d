// mremap in all its forms.
#include "common.h"

int main(void) {
    char *at = map_at(NULL, 30, RW, 0);
    mark(at, 30, 1);
    char *smaller = mremap(at, 30 * PAGE, 20 * PAGE, 0);
    CHECK(smaller == at && is_marked(at, 20, 1) && faults(at + 20 * PAGE, 0));
    // In place, because there is room now.
    CHECK(mremap(at, 20 * PAGE, 28 * PAGE, 0) == at);
    CHECK(is_marked(at, 20, 1) && is_zero(at + 20 * PAGE, 8));
    mark(at, 28, 2);
    // Another mapping follows it.
    CHECK(map_at(at + 28 * PAGE, 1, RW, MAP_FIXED) == at + 28 * PAGE);
    CHECK(mremap(at, 28 * PAGE, 60 * PAGE, 0) == MAP_FAILED && errno == ENOMEM);
    evict_all();
    char *moved = mremap(at, 28 * PAGE, 60 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && moved != at && faults(at, 0));
    CHECK(is_marked(moved, 28, 2) && is_zero(moved + 28 * PAGE, 32));
    // To an address of the program's choice, over another mapping; the protection moves too.
    char *target = map_at(NULL, 100, PROT_NONE, MAP_NORESERVE);
    mark(moved, 60, 3);
    CHECK(mprotect(moved, 60 * PAGE, PROT_READ) == 0);
    CHECK(mremap(moved, 60 * PAGE, 60 * PAGE, MREMAP_FIXED, target) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(moved, 60 * PAGE, 60 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    CHECK(faults(moved, 0) && faults(target, 1) && is_marked(target, 60, 3));
    CHECK(mprotect(target, 60 * PAGE, PROT_NONE) == 0);
    char *again = mremap(target, 60 * PAGE, 70 * PAGE, MREMAP_MAYMOVE);
    CHECK(again != MAP_FAILED && faults(again, 0));
    CHECK(mprotect(again, 70 * PAGE, RW) == 0);
    CHECK(is_marked(again, 60, 3) && is_zero(again + 60 * PAGE, 10));
    CHECK(mremap(again + 1, PAGE, PAGE, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(mremap(again, PAGE, 0, 0) == MAP_FAILED && errno == EINVAL);
    CHECK(munmap(again, 70 * PAGE) == 0);
    return succeed();
}
