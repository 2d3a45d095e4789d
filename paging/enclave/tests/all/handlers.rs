//! The program's own handlers of signals.

use crate::support::{TestProgram, ask, program};
use ameles_enclave::access::{Access, Touch};
use ameles_enclave::calls::Illegal;
use ameles_enclave::layout;
use ameles_enclave::registers::Registers;
use ameles_enclave::space::CommitPolicy;
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::launch::PagingMode;
use syscalls::riscv64::Sysno;

const PAGE: u64 = 4096;
/// Memory of the program: a page for arguments of calls, stacks of two pages that are not adjacent, and a hole.
const GIVEN: u64 = 0x20_0000;
const STACK_END: u64 = 0x20_4000;
const OTHER_STACK: u64 = 0x20_6000;
const HOLE: u64 = 0x30_0000;

const HANDLER: u64 = 0x1_0100;
const SIGUSR1: u64 = 10;
const SIGSEGV: u64 = 11;
const SIGUSR2: u64 = 12;
const ON_OTHER_STACK: u64 = 0x800_0000;
const AGAIN_MEANWHILE: u64 = 0x4000_0000;
const ONCE: u64 = 0x8000_0000;
const NULL_TOUCH: Illegal = Illegal::Touch { address: 0, touch: Touch::Load };

fn ready() -> (TestProgram, Registers) {
    let (mut program, _) = program(64, false);
    for pages in [0x200..0x201, 0x202..0x204, 0x206..0x208] {
        program.memory.space.map(pages, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
    }
    let mut registers = Registers { pc: 0x1_0010, floating_status: 0x23, ..Registers::default() };
    for (nth, register) in registers.general.iter_mut().enumerate().skip(1) {
        *register = 0x1000 + nth as u64;
    }
    for (nth, register) in registers.floating.iter_mut().enumerate() {
        *register = 0x2000 + nth as u64;
    }
    registers.general[2] = STACK_END;
    (program, registers)
}

fn call<const N: usize>(
    program: &mut TestProgram,
    registers: &mut Registers,
    call: Sysno,
    arguments: [u64; N],
) -> Result<(), Ending> {
    ask(registers, call as u64, std::array::from_fn(|nth| arguments.get(nth).copied().unwrap_or_default()));
    program.system_call(registers)
}

fn give(program: &mut TestProgram, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    program.memory.write(GIVEN, &bytes).unwrap();
}

/// Sets the program's handler of a signal.
fn handle(program: &mut TestProgram, signal: u64, flags: u64, mask: u64) {
    give(program, &[HANDLER, flags, mask]);
    call(program, &mut Registers::default(), Sysno::rt_sigaction, [signal, GIVEN, 0, 8]).unwrap();
}

fn raise(program: &mut TestProgram, registers: &mut Registers, signal: u64) -> Result<(), Ending> {
    call(program, registers, Sysno::tgkill, [1, 1, signal])
}

/// Sets the program's alternate stack, and returns the result.
fn give_stack(program: &mut TestProgram, registers: &mut Registers, stack: [u64; 3]) -> i64 {
    give(program, &stack);
    call(program, registers, Sysno::sigaltstack, [GIVEN, 0]).unwrap();
    registers.general[10] as i64
}

/// Returns from a handler.
fn go_back(program: &mut TestProgram, registers: &mut Registers) {
    ask(registers, Sysno::rt_sigreturn as u64, [0; 6]);
    program.system_call(registers).unwrap();
}

fn word(program: &mut TestProgram, at: u64) -> u64 {
    let mut bytes = [0; 8];
    program.memory.read(at, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn a_handler_is_told_of_its_signal_and_everything_is_as_before_when_it_returns() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGUSR1, 0, 0);
    let before = registers.clone();
    raise(&mut program, &mut registers, SIGUSR1).unwrap();

    let [signal, info, context] = registers.general[10..13] else { unreachable!() };
    assert_eq!((registers.pc, signal, registers.general[2]), (HANDLER, SIGUSR1, info));
    assert!(info.is_multiple_of(16) && info + 1088 <= STACK_END);
    // It says SI_TKILL, and the only process and user.
    assert_eq!(
        [0, 8, 16].map(|at| word(&mut program, info + at)),
        [SIGUSR1, (-6i32) as u32 as u64, 1 | 1000 << 32]
    );
    assert_eq!(word(&mut program, context + 176), before.pc + 4);
    // The return instructions are code, which the program may not write.
    let back = registers.general[1];
    assert_eq!(word(&mut program, back), 0x73_08b0_0893);
    assert_eq!(program.memory.fault(back, Touch::Fetch), Ok(()));
    assert!(program.memory.fault(back, Touch::Store).is_err());

    registers.general[3..10].fill(7);
    registers.floating.fill(7);
    registers.floating_status = 0;
    go_back(&mut program, &mut registers);
    let mut after = before;
    ask(&mut after, Sysno::tgkill as u64, [0, 1, SIGUSR1, 0, 0, 0]);
    after.pc += 4;
    after.floating_is_new = true;
    assert_eq!(registers, after);
}

#[test]
fn a_handler_that_changes_what_the_program_was_at_is_followed() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGSEGV, 0, 0);
    program.illegal(Illegal::Touch { address: HOLE, touch: Touch::Store }, &mut registers).unwrap();
    let [info, context] = registers.general[11..13] else { unreachable!() };
    assert_eq!([0, 8, 16].map(|at| word(&mut program, info + at)), [SIGSEGV, 1, HOLE], "nothing is there");
    // It continues elsewhere, even at the runtime's memory: the processor will fault there.
    program.memory.write(context + 176, &0x8020_0000u64.to_le_bytes()).unwrap();
    go_back(&mut program, &mut registers);
    assert_eq!(registers.pc, 0x8020_0000);

    program.memory.space.map(0x310..0x311, Access::READ, CommitPolicy::Immediate).unwrap();
    program.illegal(Illegal::Touch { address: 0x31_0000, touch: Touch::Store }, &mut registers).unwrap();
    let info = registers.general[11];
    assert_eq!(word(&mut program, info + 8), 2, "something is there, and may only be read");
}

#[test]
fn a_signal_is_blocked_in_its_own_handler_with_those_that_it_names() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGUSR1, 0, 1 << (SIGUSR2 - 1) | 1 << 8);
    handle(&mut program, SIGUSR2, AGAIN_MEANWHILE, 0);
    raise(&mut program, &mut registers, SIGUSR1).unwrap();
    let frame = registers.general[2];
    for signal in [SIGUSR1, SIGUSR2, SIGUSR1] {
        raise(&mut program, &mut registers, signal).unwrap();
        assert_eq!(registers.general[2], frame, "it waits");
    }
    // SIGKILL was named too, and cannot be blocked.
    let killed = raise(&mut program, &mut registers, 9);
    assert!(matches!(killed, Err(Ending::Signalled { signal: 9, .. })));
    // Both are pending then. The first one's handler blocks the second.
    go_back(&mut program, &mut registers);
    assert_eq!((registers.pc, registers.general[10], registers.general[2]), (HANDLER, SIGUSR1, frame));
    go_back(&mut program, &mut registers);
    assert_eq!((registers.pc, registers.general[10], registers.general[2]), (HANDLER, SIGUSR2, frame));
    // This one does not block itself.
    raise(&mut program, &mut registers, SIGUSR2).unwrap();
    assert!(registers.general[2] < frame);
    go_back(&mut program, &mut registers);
    go_back(&mut program, &mut registers);
    assert_eq!(registers.general[2], STACK_END);
}

#[test]
fn an_illegal_act_ends_the_program_that_has_no_handler_for_it_or_is_in_it() {
    let (mut program, mut registers) = ready();
    for (what, number) in [
        (NULL_TOUCH, 11),
        (Illegal::Instruction, 4),
        (Illegal::Breakpoint, 5),
        (Illegal::Machine { address: 1 }, 7),
    ] {
        let ended = program.illegal(what, &mut registers);
        assert!(matches!(ended, Err(Ending::Signalled { signal, .. }) if signal == number), "{what:?}");
    }
    handle(&mut program, SIGSEGV, ONCE | AGAIN_MEANWHILE, 0);
    program.illegal(NULL_TOUCH, &mut registers).unwrap();
    assert!(program.illegal(NULL_TOUCH, &mut registers).is_err(), "it was for one time");
    handle(&mut program, SIGSEGV, 0, 0);
    program.illegal(NULL_TOUCH, &mut registers).unwrap();
    assert!(program.illegal(NULL_TOUCH, &mut registers).is_err(), "it is in it");
}

#[test]
fn a_handler_that_asks_for_it_has_another_stack() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGSEGV, ON_OTHER_STACK, 0);
    handle(&mut program, SIGUSR1, 0, 0);
    assert_eq!(give_stack(&mut program, &mut registers, [OTHER_STACK, 0, 2047]), -12, "too small");
    assert_eq!(give_stack(&mut program, &mut registers, [OTHER_STACK, 4, 2 * PAGE]), -22, "no such flag");
    assert_eq!(give_stack(&mut program, &mut registers, [OTHER_STACK, 0, 2 * PAGE]), 0);
    // Its own stack has overflowed.
    registers.general[2] = STACK_END - 2 * PAGE;
    program.illegal(NULL_TOUCH, &mut registers).unwrap();
    let top = OTHER_STACK + 2 * PAGE;
    assert_eq!(registers.general[2], top - 1088);
    // It may not be changed now, and is reported as in use.
    assert_eq!(give_stack(&mut program, &mut registers, [OTHER_STACK, 2, 0]), -1);
    call(&mut program, &mut registers, Sysno::sigaltstack, [0, GIVEN]).unwrap();
    assert_eq!([0, 8, 16].map(|at| word(&mut program, GIVEN + at)), [OTHER_STACK, 1, 2 * PAGE]);
    // Other handlers continue on it, and none goes beyond its beginning.
    raise(&mut program, &mut registers, SIGUSR1).unwrap();
    assert_eq!(registers.general[2], top - 2 * 1088);
    go_back(&mut program, &mut registers);
    registers.general[2] = OTHER_STACK + 1088;
    let ended = raise(&mut program, &mut registers, SIGUSR1);
    assert!(matches!(ended, Err(Ending::Signalled { signal: 11, .. })));
}

#[test]
fn a_stack_that_is_not_the_programs_is_never_written_or_read_for_it() {
    for pointer in [HOLE, 0, 500, 0x8020_0000, 0xC004_1000, u64::MAX - 3] {
        let (mut program, mut registers) = ready();
        handle(&mut program, SIGUSR1, 0, 0);
        registers.general[2] = pointer;
        let begun = raise(&mut program, &mut registers, SIGUSR1);
        assert!(matches!(begun, Err(Ending::Signalled { signal: 11, .. })), "{pointer:#x}");
        registers.general[2] = pointer;
        let back = call(&mut program, &mut registers, Sysno::rt_sigreturn, [0]);
        assert!(matches!(back, Err(Ending::Signalled { signal: 11, .. })), "{pointer:#x}");
    }
}

#[test]
fn the_way_back_is_promised_before_the_program_begins() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGUSR1, 0, 0);
    let left = program.memory.space.available();
    program.memory.space.map(0x400..0x400 + left, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
    raise(&mut program, &mut registers, SIGUSR1).unwrap();
    go_back(&mut program, &mut registers);
    assert_eq!(registers.general[2], STACK_END);
}

#[test]
fn no_call_of_the_program_takes_its_way_back_or_gives_it_memory_there() {
    let (mut program, mut registers) = ready();
    handle(&mut program, SIGUSR1, 0, 0);
    let trampoline = layout::trampoline(PagingMode::Sv39).start;
    let refused = |program: &mut TestProgram, requests: Sysno, arguments: &[u64]| {
        let mut registers = Registers::default();
        ask(
            &mut registers,
            requests as u64,
            std::array::from_fn(|nth| arguments.get(nth).copied().unwrap_or(0)),
        );
        program.system_call(&mut registers).unwrap();
        let answer = registers.general[10] as i64;
        assert!((-22..0).contains(&answer), "{requests} {arguments:x?}: {answer}");
    };
    // Before the first handler, and after it. Alone, and with the stack's last page.
    for _ in 0..2 {
        for (at, bytes) in [(trampoline, PAGE), (trampoline - PAGE, 2 * PAGE)] {
            for fixed in [0x10, 0x10_0000] {
                refused(&mut program, Sysno::mmap, &[at, bytes, 3, 0x22 | fixed, u64::MAX]);
            }
            refused(&mut program, Sysno::munmap, &[at, bytes]);
            refused(&mut program, Sysno::mprotect, &[at, bytes, 3]);
            refused(&mut program, Sysno::mremap, &[at, bytes, 4 * PAGE, 1]);
            refused(&mut program, Sysno::madvise, &[at, bytes, 4]);
        }
        for hint in [trampoline, 0] {
            let mut registers = Registers::default();
            ask(&mut registers, Sysno::mmap as u64, [hint, PAGE, 3, 0x22, u64::MAX, 0]);
            program.system_call(&mut registers).unwrap();
            assert!(registers.general[10] < trampoline - layout::STACK_BYTES, "{:#x}", registers.general[10]);
        }
        raise(&mut program, &mut registers, SIGUSR1).unwrap();
        assert_eq!(registers.general[1], trampoline);
        assert_eq!(word(&mut program, trampoline), 0x73_08b0_0893);
        go_back(&mut program, &mut registers);
    }
}
