/* A hostile host on its own hart in supervisor mode. It tries to read, write and execute all addresses, and writes a
 * table of the results to its part of untrusted memory, where the test reads it.
 *
 * The table is at 32 KiB of this program. It has a word that is 1 when the table is complete, the number of rows, and
 * the rows. A row is an address, and the causes of the traps of load, store and jump. A cause of ~0 means that there
 * was no trap.
 *
 * Then it sends the firmware requests about the enclave's harts. The answers are 28 KiB after the start of the table.
 * They begin with their number. For each hart they have its number and the answers to a start, a query of its state, an
 * interrupt, and remote fences of instructions and of addresses. */

typedef unsigned long word;

#define NONE (~0UL)
/* One more than the enclave can have. */
#define HARTS 9

__asm__(".section .text.startup,\"ax\"\n"
        ".globl _start\n"
        "_start:\n"
        "    lla t0, trapped\n"
        "    csrw stvec, t0\n"
        "    lla sp, _start + 0x8000\n"
        "    lla a0, _start + 0x8000\n"
        "    call look\n"
        "1:  wfi\n"
        "    j 1b\n"
        ".balign 4\n"
        /* t6 gets the cause. After a fetch that trapped the jump returns; any other instruction is skipped. */
        "trapped:\n"
        "    csrr t6, scause\n"
        "    li t5, 1\n"
        "    bne t6, t5, 2f\n"
        "    csrw sepc, ra\n"
        "    sret\n"
        "2:  csrr t5, sepc\n"
        "    lhu t4, 0(t5)\n"
        "    andi t4, t4, 3\n"
        "    addi t4, t4, -3\n"
        "    addi t5, t5, 2\n"
        "    bnez t4, 3f\n"
        "    addi t5, t5, 2\n"
        "3:  csrw sepc, t5\n"
        "    sret\n"
        ".text\n");

static word load(word at) {
    word cause;
    __asm__ volatile("li t6, -1\n lw t3, 0(%1)\n mv %0, t6"
                     : "=r"(cause) : "r"(at) : "t3", "t4", "t5", "t6", "memory");
    return cause;
}

static word store(word at) {
    word cause;
    __asm__ volatile("li t6, -1\n sw %1, 0(%1)\n mv %0, t6"
                     : "=r"(cause) : "r"(at) : "t4", "t5", "t6", "memory");
    return cause;
}

/* A store that changes nothing, even if others write there meanwhile. */
static word store_nothing(word at) {
    word cause;
    __asm__ volatile("li t6, -1\n amoor.w zero, zero, (%1)\n mv %0, t6"
                     : "=r"(cause) : "r"(at) : "t4", "t5", "t6", "memory");
    return cause;
}

static word jump(word at) {
    word cause;
    __asm__ volatile("li t6, -1\n jalr ra, 0(%1)\n mv %0, t6"
                     : "=r"(cause) : "r"(at) : "ra", "t4", "t5", "t6", "memory");
    return cause;
}

static word *row;

static void try_to(word at) {
    row[0] = at;
    row[1] = load(at);
    row[2] = store(at);
    row[3] = jump(at);
    row += 4;
}

static word firmware(word extension, word function, word first, word second, word third, word fourth) {
    register word a0 __asm__("a0") = first;
    register word a1 __asm__("a1") = second;
    register word a2 __asm__("a2") = third;
    register word a3 __asm__("a3") = fourth;
    register word a6 __asm__("a6") = function;
    register word a7 __asm__("a7") = extension;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a3), "r"(a6), "r"(a7) : "memory");
    return a0;
}

static void ask(word *answers) {
    static const word HSM = 0x48534d, IPI = 0x735049, RFENCE = 0x52464e43;
    word here;
    __asm__("lla %0, _start" : "=r"(here));
    answers[0] = HARTS;
    for (word hart = 0; hart < HARTS; hart++) {
        word *of = answers + 1 + 6 * hart;
        of[0] = hart;
        of[1] = firmware(HSM, 0, hart, here, 0, 0);
        of[2] = firmware(HSM, 2, hart, 0, 0, 0);
        of[3] = firmware(IPI, 0, 1, hart, 0, 0);
        of[4] = firmware(RFENCE, 0, 1, hart, 0, 0);
        of[5] = firmware(RFENCE, 1, 1, hart, 0, NONE);
    }
    /* All harts at once, for a while. */
    for (unsigned time = 0; time < 10000; time++)
        firmware(IPI, 0, 0, NONE, 0, 0);
}

void look(word *table) {
    static const word DEVICES[] = {0x0, 0x1000, 0x100000, 0x101000, 0x2000000, 0x2010000, 0x4000000, 0xc000000,
                                   0xc600000, 0x10000000, 0x10001000, 0x10008000, 0x10100000, 0x20000000,
                                   0x30000000, 0x40000000};
    row = table + 2;
    for (unsigned device = 0; device < sizeof DEVICES / sizeof *DEVICES; device++)
        try_to(DEVICES[device]);
    /* Firmware, runtime and launch package: each of the first pages, then one page of every 4 MiB. */
    for (word at = 0x80000000; at < 0x80100000; at += 0x4000)
        try_to(at);
    for (word at = 0x80200000; at < 0x80300000; at += 0x4000)
        try_to(at);
    for (word at = 0x80400000; at < 0xc0000000; at += 0x400000)
        try_to(at);
    try_to(0xbffffffc);
    /* Untrusted memory, up to the begin of this program. */
    word here;
    __asm__("lla %0, _start" : "=r"(here));
    for (word at = 0xc0000000; at < here; at += 0x8000) {
        row[0] = at;
        row[1] = load(at);
        row[2] = store_nothing(at);
        row[3] = NONE;
        row += 4;
    }
    table[1] = (row - table - 2) / 4;
    ask(table + 0x7000 / sizeof *table);
    __asm__ volatile("fence" ::: "memory");
    table[0] = 1;
}
