// A range is unmapped twice: whole, in parts, and with its neighbours. Every live mapping keeps its content.
#include "common.h"

#define RUNS 24

static char *runs[RUNS];
static size_t pages[RUNS];

int main(void) {
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned run = 0; run < RUNS; run++) {
            pages[run] = 1 + (run * 5 + round * 3) % 9;
            runs[run] = map_at(NULL, pages[run], RW, 0);
            CHECK(is_zero(runs[run], pages[run]));
            mark(runs[run], pages[run], run * 11 + round);
        }
        for (unsigned run = 0; run < RUNS; run++)
            CHECK(is_marked(runs[run], pages[run], run * 11 + round));
        for (unsigned run = 0; run < RUNS; run++) {
            // The middle, then all of it, then all of it again.
            CHECK(munmap(runs[run] + pages[run] / 2 * PAGE, PAGE) == 0);
            CHECK(munmap(runs[run], pages[run] * PAGE) == 0);
            CHECK(munmap(runs[run], pages[run] * PAGE) == 0);
            // A span that overlaps free memory on either side.
            CHECK(munmap(runs[run], (pages[run] + 1) / 2 * PAGE) == 0);
        }
    }
    return succeed();
}
