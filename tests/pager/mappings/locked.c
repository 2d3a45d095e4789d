// Memory that is locked or unlocked is still paged.
#include "common.h"

static char *at, *block;

static void pages_on(unsigned seed) {
    CHECK(is_marked(at, 40, seed) && is_marked(block, 40, seed));
    mark(at, 40, seed + 1);
    mark(block, 40, seed + 1);
    evict_all();
    char *more = map_at(NULL, 40, RW, 0);
    mark(more, 40, seed);
    evict_all();
    CHECK(is_marked(more, 40, seed));
    CHECK(munmap(more, 40 * PAGE) == 0);
}

int main(void) {
    at = map_at(NULL, 40, RW, 0);
    CHECK(posix_memalign((void **)&block, PAGE, 40 * PAGE) == 0);
    mark(at, 40, 0);
    mark(block, 40, 0);
    unsigned seed = 0;
    CHECK(mlock(at + 5 * PAGE, 10 * PAGE) == 0 || errno == ENOMEM);
    CHECK(mlock(block, 10) == 0 || errno == ENOMEM);
    pages_on(seed++);
    CHECK(munlock(at + 5 * PAGE, 3 * PAGE) == 0);
    CHECK(munlock(block, 40 * PAGE) == 0);
    pages_on(seed++);
    CHECK(mlock2(at, 40 * PAGE, MLOCK_ONFAULT) == 0 || errno == ENOMEM);
    pages_on(seed++);
    if (mlockall(MCL_CURRENT) == 0)
        pages_on(seed++);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
        pages_on(seed++);
    CHECK(munlockall() == 0);
    pages_on(seed++);
    CHECK(mlockall(0) == -1 && errno == EINVAL);
    pages_on(seed++);
    return succeed();
}
