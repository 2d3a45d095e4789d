/* Prints its arguments and environment, and repeats its input line by line, on standard error in upper case. */
#include <ctype.h>
#include <stdio.h>

extern char **environ;

int main(int count, char **words) {
    for (int word = 0; word < count; word++)
        printf("argument %d: %s\n", word, words[word]);
    for (char **variable = environ; *variable; variable++)
        printf("variable: %s\n", *variable);
    char line[300];
    while (fgets(line, sizeof line, stdin)) {
        fputs(line, stdout);
        for (char *letter = line; *letter; letter++)
            *letter = (char)toupper((unsigned char)*letter);
        fputs(line, stderr);
    }
    return fflush(stdout) ? 1 : 0;
}
