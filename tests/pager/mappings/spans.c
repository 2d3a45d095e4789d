// Spans that start, end or are outside of a mapping, and advice about them.
#include "common.h"

int main(void) {
    char *all = map_at(NULL, 4096, RW, 0);
    mark(all, 8, 3);
    mark(all + 4088 * PAGE, 8, 5);
    // The memory behind may belong to others: only our own pages are named, but the last span is not a whole page.
    CHECK(madvise(all + 4092 * PAGE, 3 * PAGE + 1, MADV_DONTNEED) == 0);
    CHECK(is_marked(all + 4088 * PAGE, 4, 5));
    CHECK(is_zero(all + 4092 * PAGE, 4));
    CHECK(madvise(all + 1, PAGE, MADV_DONTNEED) == -1 && errno == EINVAL);
    CHECK(munmap(all + 1, PAGE) == -1 && errno == EINVAL);
    CHECK(munmap(all, 0) == -1 && errno == EINVAL);
    CHECK(is_marked(all, 8, 3));
    // A length that wraps around the end of the address space changes nothing.
    CHECK(munmap(all, (size_t)-1 - (size_t)all + 2) == -1 && errno == EINVAL);
    CHECK(madvise(all, (size_t)-PAGE, MADV_NORMAL) == -1);
    CHECK(is_marked(all, 8, 3));
    // A span as large as the program's whole memory: not unmapped, only queried.
    CHECK(madvise(all, 64UL << 30, MADV_NORMAL) == -1 && errno == ENOMEM);
    CHECK(is_marked(all, 8, 3));
    char *smaller = mremap(all, 4096 * PAGE, 8 * PAGE, 0);
    CHECK(smaller == all && is_marked(all, 8, 3));
    CHECK(munmap(all + 4 * PAGE, 4 * PAGE) == 0);
    CHECK(munmap(all, 8 * PAGE) == 0);
    return succeed();
}
