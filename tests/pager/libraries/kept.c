// A library with variables of its own.
#include "kept.h"
#include <stdlib.h>

char kept_zeros[300 * 4096];
char kept_initial[40 * 4096] = "begins with this";
static int value = 7, *pointer = &value;
static int constructed;

__attribute__((constructor)) static void construct(void) {
    constructed = value + 1;
    kept_zeros[9] = 3;
}

__attribute__((destructor)) static void destruct(void) {
    // What stands there at the end is what stood there before.
    if (*pointer != 7 || kept_initial[0] != 'b' || kept_zeros[9] != 3)
        abort();
}

int kept_is_as_it_was(void) {
    return constructed == 8 && pointer == &value && *pointer == 7 && kept_zeros[9] == 3;
}
