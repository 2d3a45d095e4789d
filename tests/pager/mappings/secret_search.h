// Counts a secret in memory that is neither paged nor the pager's own.
#include "common.h"

#define SECRET 24

// The secret is made and compared byte by byte, so that it is only where a test puts it.
static inline char secret_byte(unsigned which, size_t at) {
    return (char)(0x5a ^ (which * 31 + at * 17 + 101));
}

__attribute__((unused)) static void hide(volatile char *at, unsigned which) {
    for (size_t byte = 0; byte < SECRET; byte++)
        at[byte] = secret_byte(which, byte);
}

__attribute__((unused)) static int is_hidden_at(const volatile char *at, unsigned which) {
    for (size_t byte = 0; byte < SECRET; byte++)
        if (at[byte] != secret_byte(which, byte))
            return 0;
    return 1;
}

// Counts the secret in bytes that were read.
static int found_in(const char *bytes, size_t len, unsigned which) {
    int found = 0;
    for (size_t at = 0; at + SECRET <= len; at++)
        found += is_hidden_at(bytes + at, which);
    return found;
}

__attribute__((unused)) static int in_the_clear(unsigned which) {
    // Few pages, which stay resident.
    static char block[4 * PAGE];
    FILE *smaps = fopen("/proc/self/smaps", "r");
    int memory = open("/proc/self/mem", O_RDONLY), found = 0;
    CHECK(smaps && memory >= 0);
    size_t start = 0, end = 0, room = 0;
    char *line = NULL, rights[8] = "", name[8];
    while (getline(&line, &room, smaps) > 0) {
        size_t first, last;
        if (sscanf(line, "%zx-%zx %7s", &first, &last, rights) == 3)
            start = first, end = last;
        // Memory that is not in core dumps belongs to the region or the pager.
        if (sscanf(line, "%7[V]mFlags:", name) != 1 || rights[0] != 'r' || strstr(line, " dd"))
            continue;
        // Parts overlap, so that each secret is complete in one of them.
        for (size_t at = start; at < end; at += sizeof block - SECRET + 1) {
            size_t len = end - at < sizeof block ? end - at : sizeof block;
            ssize_t read = pread(memory, block, len, (off_t)at);
            found += read > 0 ? found_in(block, (size_t)read, which) : 0;
            memset(block, 0, sizeof block);
        }
    }
    free(line);
    CHECK(fclose(smaps) == 0 && close(memory) == 0);
    return found;
}
