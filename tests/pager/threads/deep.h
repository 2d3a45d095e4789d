// Frames far down a stack, each with a different value.
#include "../mappings/secret_search.h"
#include <pthread.h>
#include <stdint.h>

#define FRAME 4000
#define DEEP 270 // frames: more than a MiB

typedef void (*at_the_bottom)(void *);

// Recurses, acts at the bottom, and checks the value of each frame on the way back.
__attribute__((noinline, unused)) static void go_down(unsigned depth, unsigned seed, at_the_bottom act, void *with) {
    volatile char frame[FRAME];
    for (size_t at = 0; at < FRAME; at += 7)
        frame[at] = (char)(seed + depth * 13 + at);
    if (depth)
        go_down(depth - 1, seed, act, with);
    else if (act)
        act(with);
    for (size_t at = 0; at < FRAME; at += 7)
        CHECK(frame[at] == (char)(seed + depth * 13 + at));
}
