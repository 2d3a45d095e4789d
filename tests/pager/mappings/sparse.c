// Maps ten times as much memory as there is, writes little of it, and reads all of it.
#include "common.h"

#define MUCH ((size_t)12000) // pages: ten times as many as there are

static void look(const char *at, unsigned seed) {
    for (size_t page = 0; page < MUCH; page++)
        CHECK(page % 60 == 7 ? is_marked(at + page * PAGE, 1, seed + (unsigned)page) : at[page * PAGE + page % PAGE] == 0);
}

int main(void) {
    char *plain = map_at(NULL, MUCH, RW, 0), *overcommitted = map_at(NULL, MUCH, RW, MAP_NORESERVE);
    char *reserved = map_at(NULL, MUCH, PROT_NONE, 0);
    CHECK(mprotect(reserved, MUCH * PAGE, RW) == 0);
    char *all[] = {plain, overcommitted, reserved};
    for (unsigned which = 0; which < 3; which++)
        for (size_t page = 7; page < MUCH; page += 60)
            mark(all[which] + page * PAGE, 1, which + (unsigned)page);
    for (unsigned which = 0; which < 3; which++)
        look(all[which], which);
    // Memory that was written and then zeroed needs no pages.
    for (unsigned which = 0; which < 3; which++)
        for (size_t page = 7; page < MUCH; page += 60)
            memset(all[which] + page * PAGE, 0, PAGE);
    mark(plain + 6000 * PAGE, 700, 3);
    CHECK(is_zero(overcommitted, 3000) && is_marked(plain + 6000 * PAGE, 700, 3));
    // As much as there is in other places, after that memory was released.
    CHECK(munmap(plain, MUCH * PAGE) == 0);
    mark(reserved + 3000 * PAGE, 700, 4);
    CHECK(is_zero(overcommitted + 5000 * PAGE, 3000) && is_marked(reserved + 3000 * PAGE, 700, 4));
    char *heap = malloc(PAGE);
    CHECK(heap);
    mark(heap, 1, 5);
    CHECK(is_marked(heap, 1, 5));
    return succeed();
}
