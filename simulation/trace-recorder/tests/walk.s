# Reads 8192 lines of memory in their order, then writes them, and touches no other memory. There is no stack and no C library,
# so every miss of a first-level cache is known, and so is every instruction between two of them.
    .globl _start
    .text
_start:
    mov $buffer, %esi
    mov $8192, %ecx
read:
    mov (%rsi), %al
    add $64, %rsi
    dec %ecx
    jnz read
    mov $buffer, %esi
    mov $8192, %ecx
write:
    mov %al, (%rsi)
    add $64, %rsi
    dec %ecx
    jnz write
    mov $60, %eax
    xor %edi, %edi
    syscall
    .bss
buffer:
    .skip 8192*64
