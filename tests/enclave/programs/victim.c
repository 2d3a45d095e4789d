/* Pseudocode 1 of Chakravarty and Panda: a program whose use of pages is its secret. `victim LEAK SECRETS` has a secret
 * for each letter of SECRETS, 1 or 2; it has as many faults with the one as with the other.
 *
 * LEAK is `load`: page 1, which has just gone out, is used if the secret is 1, else page 2, which has been out for long.
 * LEAK is `evict`: pages 1 and 2 are used in this order if the secret is 1, else the other way round.
 *
 * It has what it needs in registers, and nothing on the stack: beside its pages only that of its code comes and goes each
 * time. */
#include <stdlib.h>

#define PAGE 4096
/* More than are resident: whoever has used so many others has everything else out. */
#define OTHERS 7

__attribute__((always_inline)) static inline void use(volatile char *pages, int page) { pages[page * PAGE]++; }

static void use_others(volatile char *pages, int first) {
    for (int page = 0; page < OTHERS; page++)
        use(pages, first + page);
}

int main(int count, char **words) {
    if (count != 3)
        return 2;
    volatile char *pages = aligned_alloc(PAGE, (3 + 2 * OTHERS) * PAGE);
    if (!pages)
        return 3;
    int load = words[1][0] == 'l';
    for (int page = 0; page < 3 + 2 * OTHERS; page++)
        use(pages, page);
    for (const char *secret = words[2]; *secret; secret++) {
        int first = *secret == '1' ? 1 : 2;
        if (load) {
            use(pages, 2);
            use_others(pages, 3 + OTHERS);
            use(pages, 1);
            use_others(pages, 3);
            use(pages, first);
        } else {
            use_others(pages, 3);
            use(pages, first);
            use(pages, 3 - first);
        }
        use_others(pages, 3 + OTHERS);
    }
    return 0;
}
