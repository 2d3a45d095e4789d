/* Prints the seconds since 1970, if it may read the clock. */
#include <stdio.h>
#include <time.h>

int main(void) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) {
        perror("clock_gettime");
        return 1;
    }
    printf("%lld\n", (long long)now.tv_sec);
    return 0;
}
