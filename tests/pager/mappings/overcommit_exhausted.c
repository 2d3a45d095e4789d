// Overcommits more memory than there is, and touches it page by page.
#include "common.h"

int main(void) {
    char *at = map_at(NULL, 50000, RW, MAP_NORESERVE);
    mark(at, 50000, 1);
    CHECK(is_marked(at, 50000, 1));
    return succeed();
}
