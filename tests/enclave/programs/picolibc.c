/* The functions that picolibc needs from a system, by calls of Linux: start, exit, memory and three streams. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define READ 63
#define WRITE 64
#define EXIT_GROUP 94
#define BREAK 214

int main(int count, char **words);

char **environ;

static long call(long number, long first, long second, long third) {
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = first;
    register long a1 __asm__("a1") = second;
    register long a2 __asm__("a2") = third;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory");
    return a0;
}

_Noreturn void _exit(int code) {
    for (;;)
        call(EXIT_GROUP, code, 0, 0);
}

/* The arguments are on the stack. The linker gives the address of the data of the only thread. */
__asm__(".globl _start\n"
        "_start:\n"
        ".option push\n"
        ".option norelax\n"
        "    la gp, __global_pointer$\n"
        ".option pop\n"
        "    la tp, __thread\n"
        "    mv a0, sp\n"
        "    andi sp, sp, -16\n"
        "    call begin\n");

_Noreturn void begin(long *stack) {
    char **words = (char **)(stack + 1);
    environ = words + stack[0] + 1;
    exit(main((int)stack[0], words));
}

void *sbrk(ptrdiff_t more) {
    static intptr_t end;
    if (!end)
        end = call(BREAK, 0, 0, 0);
    if (call(BREAK, end + more, 0, 0) != end + more) {
        errno = ENOMEM;
        return (void *)-1;
    }
    end += more;
    return (void *)(end - more);
}

static int put(char letter, FILE *stream);

static int get(FILE *stream) {
    (void)stream;
    unsigned char letter;
    return call(READ, 0, (long)&letter, 1) == 1 ? letter : _FDEV_EOF;
}

static FILE input = FDEV_SETUP_STREAM(NULL, get, NULL, _FDEV_SETUP_READ);
static FILE output = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
static FILE error = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);

FILE *const stdin = &input;
FILE *const stdout = &output;
FILE *const stderr = &error;

static int put(char letter, FILE *stream) { return call(WRITE, stream == &error ? 2 : 1, (long)&letter, 1) == 1 ? 0 : _FDEV_ERR; }
