// A thread that started before the program loses none of its counts.
#include "../mappings/common.h"

int lost(void);

int main(void) {
    char *heap = malloc(200 * PAGE);
    mark(heap, 200, 1);
    CHECK(is_marked(heap, 200, 1));
    return lost() ? 1 : succeed();
}
