// A library with static variables.
#include "variables.h"
#include <stdlib.h>

char library_zeros[300 * 4096];
char library_initial[40 * 4096] = "begins with this";
static int value = 7, *pointer = &value;
static int constructed;

__attribute__((constructor)) static void construct(void) {
    constructed = value + 1;
    library_zeros[9] = 3;
}

__attribute__((destructor)) static void destruct(void) {
    // At the exit the variables have their values from before.
    if (*pointer != 7 || library_initial[0] != 'b' || library_zeros[9] != 3)
        abort();
}

int library_is_unchanged(void) {
    return constructed == 8 && pointer == &value && *pointer == 7 && library_zeros[9] == 3;
}
