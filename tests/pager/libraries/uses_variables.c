// The variables of a library have their values from before main, keep what is written, and are nowhere in the clear.
#include "../mappings/secret_search.h"
#include "variables.h"
#include <pthread.h>

static void *other(void *argument) {
    mark(library_zeros + 200 * PAGE, 100, 3);
    CHECK(is_marked(library_zeros + 200 * PAGE, 100, 3));
    return argument;
}

int main(int count, char **words) {
    CHECK(library_is_unchanged() && strcmp(library_initial, "begins with this") == 0);
    library_zeros[9] = 0;
    CHECK(is_zero(library_zeros, 300) && is_zero(library_initial + PAGE, 39));
    for (unsigned round = 0; round < 3; round++) {
        mark(library_zeros, 200, round);
        mark(library_initial + PAGE, 39, round + 1);
        evict_all();
        CHECK(is_marked(library_zeros, 200, round) && is_marked(library_initial + PAGE, 39, round + 1));
    }
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0 && pthread_join(thread, NULL) == 0);
    hide(library_initial + 5 * PAGE, 1);
    hide(library_zeros + 250 * PAGE + 40, 1);
    CHECK(is_hidden_at(library_zeros + 250 * PAGE + 40, 1));
    int found = in_the_clear(1);
    fprintf(stderr, "%d in the clear\n", found);
    CHECK(found == (count > 1 ? atoi(words[1]) : 2));
    library_zeros[9] = 3;
    CHECK(library_is_unchanged());
    return succeed();
}
