/* Pseudocode 1 of Chakravarty and Panda: a program whose page accesses depend on its secrets. In `victim LEAK SECRETS`
 * each letter of SECRETS is a secret, 1 or 2. The number of faults is the same for both.
 *
 * LEAK is `load`: the program uses page 1, evicted recently, if the secret is 1, else page 2, evicted long ago.
 * LEAK is `evict`: the program uses pages 1 and 2 in this order if the secret is 1, else in the other order.
 *
 * All its data is in registers and none on the stack, so besides its pages only the page of its code is loaded and
 * evicted each time. */
#include <stdlib.h>

#define PAGE 4096
/* More than are resident: their use evicts all other pages. */
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
