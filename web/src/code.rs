//! The pseudocode of the schemes, as their modules document it, and the lines that run.

use serde::Serialize;

/// The work that a scheme is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// An access that reads.
    Read,
    /// An access that writes.
    Write,
    /// Work that is pending after accesses.
    Idle,
}

/// The stage of that work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The work has begun.
    Started,
    /// The work waits for a read of a part of memory.
    Reads,
    /// The work waits for a write.
    Writes,
    /// The work waits for a read or a write of a position map that is in memory.
    Maps,
    /// The work waits for messages between processors.
    Sends,
    /// The work has ended.
    Ended,
}

use Stage::{Ended, Maps, Reads, Sends, Started, Writes};

/// The works, moments and parts of memory in which lines run.
struct Rule {
    works: &'static [Work],
    stages: &'static [Stage],
    /// The beginning of the name of the part of memory, or of the phase of messages; empty for any.
    area: &'static str,
    /// The lines, each named by a part of it that no other line has.
    lines: &'static [&'static str],
}

/// The pseudocode of a scheme.
pub struct Code {
    /// The lines of the pseudocode.
    pub lines: Vec<String>,
    rules: Vec<&'static [Rule]>,
}

impl Code {
    /// The code in the documentation of modules.
    fn of(sources: &[&str], rules: &'static [Rule]) -> Self {
        let lines = sources.iter().flat_map(|source| documented(source)).map(str::to_owned).collect();
        Code { lines, rules: vec![rules] }
    }

    /// The code of a scheme whose position map is recursive, followed by the code of the map.
    pub(crate) fn with_map(mut self) -> Code {
        let map = recursive_map();
        self.lines.extend(map.lines);
        self.rules.extend(map.rules);
        self
    }

    /// The numbers of the lines that run, from 0.
    pub fn running(&self, work: Work, stages: &[Stage], area: &str) -> Vec<usize> {
        let applies = |rule: &&Rule| {
            rule.works.contains(&work)
                && rule.stages.iter().any(|moment| stages.contains(moment))
                && area.starts_with(rule.area)
        };
        let named = self.rules.iter().copied().flatten().filter(applies).flat_map(|rule| rule.lines);
        let mut running: Vec<usize> = named.filter_map(|part| self.line(part)).collect();
        running.sort_unstable();
        running.dedup();
        running
    }

    fn line(&self, part: &str) -> Option<usize> {
        self.lines.iter().position(|line| line.contains(part))
    }
}

/// The lines of the first block of text in a module's documentation.
fn documented(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().skip_while(|line| *line != "//! ```text").skip(1);
    lines.take_while(|line| *line != "//! ```").map(|line| {
        let line = line.strip_prefix("//!").unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line)
    })
}

const ANY: &[Work] = &[Work::Read, Work::Write];
const IDLE: &[Work] = &[Work::Idle];

const fn rule(
    works: &'static [Work],
    stages: &'static [Stage],
    area: &'static str,
    lines: &'static [&'static str],
) -> Rule {
    Rule { works, stages, area, lines }
}

macro_rules! scheme {
    (
        $(#[$doc:meta])* $name:ident, [$($source:literal),+],
        [$($works:expr, $stages:expr, $area:literal => $lines:expr;)+]
    ) => {
        $(#[$doc])*
        pub fn $name() -> Code {
            const RULES: &[Rule] = &[$(rule($works, &$stages, $area, &$lines)),+];
            Code::of(&[$(include_str!($source)),+], RULES)
        }
    };
}

scheme!(
    /// The pseudocode of Path ORAM.
    path, ["../../core/core/src/schemes/path/mod.rs"], [
    ANY, [Started], "" => ["x <- position[a]", "position[a] <- UniformRandom"];
    ANY, [Reads], "" => ["ReadBucket(P(x, l))"];
    ANY, [Ended], "" => ["data <- read block a from S", "return data"];
    &[Work::Write], [Ended], "" => ["if op = write"];
    IDLE, [Writes], "" => ["for l in L, L - 1", "S' <- {(a'", "select min", "S <- S - S'"];
    IDLE, [Writes], "" => ["WriteBucket(P(x, l), S')"];
]);

scheme!(
    /// The pseudocode of Root ORAM, and that of Path ORAM, which it changes.
    root, ["../../core/core/src/schemes/root/mod.rs", "../../core/core/src/schemes/path/mod.rs"], [
    ANY, [Started], "" => ["with probability", "otherwise:", "x <- position[a]"];
    ANY, [Reads], "" => ["ReadBucket(P(x, l))"];
    ANY, [Ended], "" => ["data <- read block a from S", "return data"];
    &[Work::Write], [Ended], "" => ["if op = write"];
    IDLE, [Writes], "" => ["for l in L, L - 1", "S' <- {(a'", "select min", "S <- S - S'"];
    IDLE, [Writes], "" => ["WriteBucket(P(x, l), S')"];
]);

scheme!(
    /// The pseudocode of Ring ORAM.
    ring, ["../../core/core/src/schemes/ring/mod.rs"], [
    ANY, [Started], "" => ["l' <- UniformRandom"];
    ANY, [Reads], "" => ["data <- ReadPath(l, a)", "offset <- GetBlockOffset", "read P(l, i, offset)"];
    ANY, [Ended], "" => ["Stash <- Stash u (a, l', data)", "round <- round + 1"];
    &[Work::Write], [Ended], "" => ["if op = write"];
    IDLE, [Started], "" => ["l <- the bits of G"];
    IDLE, [Reads], "" => ["Stash <- Stash u ReadBucket"];
    IDLE, [Writes], "" => ["WriteBucket(P(l, i), Stash)"];
]);

scheme!(
    /// The pseudocode of Circuit ORAM.
    circuit, ["../../core/core/src/schemes/circuit/mod.rs"], [
    ANY, [Started], "" => ["x <- position[a]"];
    ANY, [Reads], "" => ["data <- ReadAndRm(a, P(x))"];
    ANY, [Ended], "" => ["stash <- stash u {(a, position[a], data)}"];
    IDLE, [Reads], "" => ["PrepareDeepest(path)  "];
    IDLE, [Writes], "" => ["PrepareDeepest(path);", "for i in 0, 1, .., L + 1"];
    IDLE, [Writes], "" => ["towrite <- hold", "hold <- read and remove", "place towrite"];
]);

scheme!(
    /// The pseudocode of a recursive position map.
    recursive_map, ["../../core/core/src/position_map/recursive.rs"], [
    ANY, [Started], "" => ["to look up a in map i", "the trusted side has position[a]"];
    ANY, [Maps], "" => ["b <- a div X", "access block b of the tree of map i"];
    IDLE, [Maps], "" => ["write the path of that tree back"];
]);

scheme!(
    /// The pseudocode of Square-Root ORAM.
    square_root, ["../../core/core/src/schemes/square_root/mod.rs"], [
    ANY, [Started], "" => ["for the t-th access"];
    ANY, [Reads], "shelter" => ["read the whole shelter"];
    ANY, [Reads], "" => ["if v is in it"];
    ANY, [Writes], "" => ["put v into the shelter"];
    IDLE, [Reads, Writes], "" => ["after S accesses", "sort permuted memory and shelter", "sort the newest copies"];
]);

scheme!(
    /// The pseudocode of PracticalOS.
    practical_os, ["../../core/core/src/schemes/practical_os/mod.rs"], [
    ANY, [Started], "" => ["for the t-th access"];
    ANY, [Reads], "" => ["if v is in the cache"];
    ANY, [Ended], "" => ["serve the access from the cache"];
    IDLE, [Reads, Writes], "" => ["after S accesses", "bring the blocks of the cache back", "shuffle the N blocks"];
]);

scheme!(
    /// The pseudocode of Hierarchical ORAM.
    hierarchical, ["../../core/core/src/schemes/hierarchical/mod.rs"], [
    ANY, [Started], "" => ["to access block v"];
    ANY, [Reads], "buffer" => ["read the whole buffer"];
    ANY, [Reads], "table" => ["for each level i that holds", "if v was not found yet"];
    ANY, [Writes], "" => ["append v to the buffer"];
    IDLE, [Reads, Writes], "" => ["after the n-th S accesses"];
    IDLE, [Reads, Writes], "buffer" => ["bring the buffer and all levels"];
    IDLE, [Reads, Writes], "list" => ["bring the buffer and all levels"];
    IDLE, [Reads, Writes], "room" => ["hash them by a new h_j"];
    IDLE, [Reads, Writes], "table" => ["hash them by a new h_j"];
]);

scheme!(
    /// The pseudocode of CURIOUS.
    curious, ["../../core/core/src/schemes/curious/mod.rs"], [
    ANY, [Started], "" => ["to access block v, in"];
    ANY, [Reads], "" => ["read a path of p"];
    ANY, [Ended], "" => ["position[v] <- UniformRandom"];
    ANY, [Writes], "" => ["write the path, with"];
    IDLE, [Reads, Writes], "" => ["write the path, with"];
]);

scheme!(
    /// The pseudocode of ObliviStore: what is common to partitions, and then its own.
    oblivistore, [
        "../../core/core/src/partitions/mod.rs",
        "../../core/core/src/schemes/oblivistore/mod.rs"
    ], [
    ANY, [Started], "" => ["to access block v:", "p <- position[v]", "if v is in the cache"];
    ANY, [Reads], "" => ["for each level that holds something"];
    ANY, [Writes], "" => ["write their blocks and the new one"];
    ANY, [Ended], "" => ["serve the access from the cache"];
    IDLE, [Started], "" => ["put cached blocks of partition p"];
    IDLE, [Reads, Writes], "" => ["to put a block, or none", "l <- the first level"];
    IDLE, [Reads], "" => ["read of each level above l"];
    IDLE, [Writes], "" => ["write their blocks and the new one"];
]);

scheme!(
    /// The pseudocode of the parallel RAM.
    parallel, ["../../core/core/src/schemes/parallel/mod.rs"], [
    ANY, [Started], "" => ["Round(r_1 .. r_m)"];
    ANY, [Sends], "sort" => ["sort the requests by block"];
    ANY, [Sends], "neighbours" => ["p tells p - 1 and p + 1"];
    ANY, [Sends], "spread" => ["each p draws x'_p;", "each p that is not first"];
    ANY, [Sends], "ask" => ["p asks the processor of x_p"];
    ANY, [Reads], "" => ["p asks the processor of x_p"];
    ANY, [Sends], "answer" => ["p asks the processor of x_p"];
    ANY, [Sends], "pass-on" => ["for d in 1, 2, 4"];
    ANY, [Sends], "route" => ["p that is last for its block", "for k in 0, 1"];
    ANY, [Sends], "back" => ["sort the answers by i"];
    IDLE, [Reads, Writes], "" => ["Evict: each processor"];
]);

scheme!(
    /// The pseudocode of Trivial ORAM.
    trivial, ["../../core/core/src/schemes/trivial.rs"], [
    ANY, [Reads, Writes], "" => ["for each chunk of memory"];
]);

scheme!(
    /// The pseudocode of DetWoORAM.
    detworam, ["../../core/core/src/schemes/detworam.rs"], [
    &[Work::Read], [Reads], "" => ["read of address a"];
    &[Work::Write], [Started], "" => ["pth write, at address a"];
    &[Work::Write], [Reads], "" => ["for i in the main slots that are due"];
    &[Work::Write], [Writes], "" => ["D[N + (p mod M)] <- ENC(d)", "Pos[a] <- N + (p mod M)"];
    &[Work::Write], [Writes], "" => ["for i in the main slots that are due"];
    &[Work::Write], [Ended], "" => ["p <- p + 1"];
]);

scheme!(
    /// The pseudocode of Eager DetWoORAM.
    eager, ["../../core/core/src/schemes/eager.rs"], [
    &[Work::Read], [Started], "" => ["read      from the buffer"];
    &[Work::Write], [Ended], "" => ["write p   copy the page", "that were preloaded, replace"];
    IDLE, [Writes], "" => ["unload    write the holding slot"];
    IDLE, [Reads], "" => ["preload   read the newest copies"];
]);

scheme!(
    /// The pseudocode of OPAM.
    opam, ["../../core/core/src/schemes/opam.rs"], [
    ANY, [Started], "" => ["x <- position[a]"];
    ANY, [Reads], "" => ["for each level l"];
    ANY, [Writes], "" => ["data <- read block a from S", "for l in L, L - 1"];
]);

scheme!(
    /// The pseudocode of the reader's own scheme.
    own, ["own_scheme.rs"], [
    ANY, [Started], "" => ["access to block a"];
    ANY, [Reads], "" => ["read slot p(a)"];
    ANY, [Writes], "" => ["serve what was asked", "write slot p(a)"];
]);

/// The pseudocode of the plain store, whose module has none.
pub fn plain() -> Code {
    const RULES: &[Rule] = &[
        rule(&[Work::Read], &[Reads], "", &["read of block a"]),
        rule(&[Work::Write], &[Writes], "", &["write of block a"]),
    ];
    let lines = ["read of block a:   DEC(D[a])", "write of block a:  D[a] <- ENC(d)"];
    Code { lines: lines.map(str::to_owned).to_vec(), rules: vec![RULES] }
}

#[cfg(test)]
mod tests {
    use crate::catalogue;
    use crate::instance::{PositionMapKind, Setting};

    #[test]
    fn every_line_that_can_run_stands_in_the_documentation_of_its_scheme() {
        for scheme in catalogue::SCHEMES {
            let map = if scheme.recursive { PositionMapKind::Recursive } else { PositionMapKind::Trusted };
            let setting = Setting { capacity: 16, seed: 1, batch: 4, map };
            let code = catalogue::make(scheme.name, setting).unwrap().code;
            assert!(!code.lines.is_empty(), "{} has no pseudocode", scheme.name);
            for part in code.rules.iter().copied().flatten().flat_map(|rule| rule.lines) {
                let found = code.lines.iter().filter(|line| line.contains(part)).count();
                assert!(found >= 1, "{}: no line has `{part}`:\n{}", scheme.name, code.lines.join("\n"));
            }
        }
    }
}
