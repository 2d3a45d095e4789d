// The variables of a library, as they stood before main and ever after, and nowhere in the clear.
#include "../mappings/clear.h"
#include "kept.h"
#include <pthread.h>

static void *other(void *argument) {
    mark(kept_zeros + 200 * PAGE, 100, 3);
    CHECK(is_marked(kept_zeros + 200 * PAGE, 100, 3));
    return argument;
}

int main(int count, char **words) {
    CHECK(kept_is_as_it_was() && strcmp(kept_initial, "begins with this") == 0);
    kept_zeros[9] = 0;
    CHECK(is_zero(kept_zeros, 300) && is_zero(kept_initial + PAGE, 39));
    for (unsigned round = 0; round < 3; round++) {
        mark(kept_zeros, 200, round);
        mark(kept_initial + PAGE, 39, round + 1);
        evict_all();
        CHECK(is_marked(kept_zeros, 200, round) && is_marked(kept_initial + PAGE, 39, round + 1));
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0 && pthread_join(thread, NULL) == 0);
    hide(kept_initial + 5 * PAGE, 1);
    hide(kept_zeros + 250 * PAGE + 40, 1);
    CHECK(is_hidden_at(kept_zeros + 250 * PAGE + 40, 1));
    int found = in_the_clear(1);
    fprintf(stderr, "%d in the clear\n", found);
    CHECK(found == (count > 1 ? atoi(words[1]) : 2));
    kept_zeros[9] = 3;
    CHECK(kept_is_as_it_was());
    return content();
}
