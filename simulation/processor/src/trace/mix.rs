//! Several programs that share one memory: a mix.

use super::pages::{Frames, Space};
use super::{Miss, TraceError};

/// Interleaved traces, each with its own address space.
///
/// The programs progress equally fast, by instructions. The next miss is from the program that has executed the fewest
/// instructions, counted up to and including its next miss. The instructions before the miss come with it. So no
/// instruction is lost or added, and every program's misses stay in their order. A mix ends when the first of its
/// programs ends, so that all of them run from beginning to end.
pub struct Mix<T> {
    programs: Vec<Program<T>>,
    frames: Frames,
    is_over: bool,
}

struct Program<T> {
    trace: T,
    next: Option<Result<Miss, TraceError>>,
    /// The number of instructions that it has executed when its next miss is over.
    executed: u64,
}

impl<T: Iterator<Item = Result<Miss, TraceError>>> Program<T> {
    fn new(trace: T) -> Self {
        let mut program = Program { trace, next: None, executed: 0 };
        program.advance();
        program
    }

    /// Takes its next miss, and reads the one after it.
    fn advance(&mut self) -> Option<Result<Miss, TraceError>> {
        let next = std::mem::replace(&mut self.next, self.trace.next());
        if let Some(Ok(miss)) = &self.next {
            self.executed += u64::from(miss.instructions) + 1;
        }
        next
    }
}

impl<T: Iterator<Item = Result<Miss, TraceError>>> Mix<T> {
    /// Mixes programs in a memory.
    pub fn new(traces: impl IntoIterator<Item = T>, frames: Frames) -> Self {
        Mix { programs: traces.into_iter().map(Program::new).collect(), frames, is_over: false }
    }

    fn miss(&mut self) -> Option<Result<Miss, TraceError>> {
        let (space, program) =
            (0..).map(Space).zip(&mut self.programs).min_by_key(|(_, program)| program.executed)?;
        let placed = program.advance()?.and_then(|miss| {
            let line = self.frames.place(space, miss.line)?;
            Ok(Miss { line, ..miss })
        });
        Some(placed)
    }
}

/// The misses, in places of the memory. After an error there is no more.
impl<T: Iterator<Item = Result<Miss, TraceError>>> Iterator for Mix<T> {
    type Item = Result<Miss, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let miss = self.miss();
        self.is_over = !matches!(miss, Some(Ok(_)));
        miss
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Kind;
    use crate::trace::pages::{Order, PAGE_LINES};
    use crate::units::Line;
    use proptest::prelude::*;

    fn miss(instructions: u32, line: u64) -> Miss {
        Miss { instructions, kind: Kind::Load, line: Line(line) }
    }

    fn mixed(programs: &[Vec<Miss>], lines: u64) -> Result<Vec<Miss>, TraceError> {
        let traces = programs.iter().map(|program| program.clone().into_iter().map(Ok));
        Mix::new(traces, Frames::new(lines, Order::FirstTouch)).collect()
    }

    /// A program whose every line identifies it by the offset in the page.
    fn program(which: u64) -> impl Strategy<Value = Vec<Miss>> {
        prop::collection::vec((0..1000u32, 0..20u64), 1..60).prop_map(move |misses| {
            misses.into_iter().map(|(between, page)| miss(between, page * PAGE_LINES + which)).collect()
        })
    }

    proptest! {
        #[test]
        fn each_program_keeps_its_misses_and_none_is_ahead_by_more_than_a_miss(
            programs in (program(0), program(1), program(2))
        ) {
            let programs = [programs.0, programs.1, programs.2];
            let mixed = mixed(&programs, 1 << 26).unwrap();
            let mut executed = [0u64; 3];
            let mut taken = [0; 3];
            for found in &mixed {
                let which = (found.line.0 % PAGE_LINES) as usize;
                let next = programs[which][taken[which]];
                prop_assert_eq!(next.instructions, found.instructions);
                executed[which] += u64::from(found.instructions) + 1;
                taken[which] += 1;
                let longest = 1001;
                prop_assert!(executed.iter().all(|other| executed[which] <= other + longest));
            }
            let ended = (0..3).filter(|which| taken[*which] == programs[*which].len()).count();
            prop_assert_eq!(ended, 1);
        }
    }

    #[test]
    fn programs_take_turns_by_their_instructions_and_share_no_line() {
        let [often, seldom] = [vec![miss(9, 5); 4], vec![miss(19, 5); 4]];
        let found = mixed(&[often, seldom], 1 << 26).unwrap();
        let lines = [(9, 5), (9, 5), (19, 64 + 5), (9, 5), (9, 5), (19, 64 + 5)];
        assert_eq!(found, lines.map(|(between, line)| miss(between, line))[..5]);
    }

    #[test]
    fn a_fault_of_a_program_or_a_memory_too_small_ends_the_mix() {
        let fault = || Err(TraceError::Foreign);
        let programs = [vec![Ok(miss(1, 0)), fault(), Ok(miss(1, 0))], vec![Ok(miss(100, 0))]];
        let mix = Mix::new(programs.map(Vec::into_iter), Frames::new(1 << 26, Order::FirstTouch));
        let found: Vec<_> = mix.collect();
        assert!(found.len() == 2 && found[0].is_ok() && found[1].is_err(), "{found:?}");
        let small = mixed(&[vec![miss(0, 0); 3], vec![miss(1, 0)]], PAGE_LINES);
        assert!(matches!(small, Err(TraceError::Full(_))));
        assert!(mixed(&[], 0).unwrap().is_empty());
    }
}
