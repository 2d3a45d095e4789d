/* `steps PAGES ROUNDS` writes to PAGES pages in turn, in each round, and checks the values of the last round. 0 rounds never
 * end. It prints a line after the first round. */
#include <stdio.h>
#include <stdlib.h>

#define PAGE 4096

int main(int count, char **words) {
    if (count != 3)
        return 2;
    size_t pages = strtoul(words[1], NULL, 10);
    unsigned long rounds = strtoul(words[2], NULL, 10);
    volatile unsigned char *memory = malloc(pages * PAGE);
    if (!memory)
        return 3;
    for (size_t page = 0; page < pages; page++)
        memory[page * PAGE] = 0;
    puts("begun");
    fflush(stdout);
    for (unsigned long round = 1; !rounds || round <= rounds; round++) {
        for (size_t page = 0; page < pages; page++) {
            if (memory[page * PAGE] != (unsigned char)(round - 1)) {
                puts("WRONG");
                return 4;
            }
            memory[page * PAGE] = (unsigned char)round;
        }
    }
    puts("right");
    return 0;
}
