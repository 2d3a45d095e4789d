// What a thread has counted that was there before the program is all there.
#include "../mappings/common.h"

int lost(void);

int main(void) {
    char *heap = malloc(200 * PAGE);
    mark(heap, 200, 1);
    CHECK(is_marked(heap, 200, 1));
    return lost() ? 1 : content();
}
