use super::*;
use crate::tree_scheme::Headers;
use ameles_core::testing::oblivious::statistics::{ALARM_LOG2, Finding, uniform};
use rand_core::RngCore;
use std::collections::BTreeMap;

/// A bug that tests inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InjectedBug {
    /// A request visits the next tree at once if its block of this one is on the trusted side.
    StashAnswersEarly,
    /// A request for the same block as the one before reads the same path, because its block has no new leaf yet.
    PathIsReadAgain,
}

const LEVELS: u32 = 11;

#[derive(Clone, Copy, Debug)]
enum Program {
    Uniform,
    OneBlock,
    InOrder,
    Dummies,
}

const PROGRAMS: [Program; 4] = [Program::Uniform, Program::OneBlock, Program::InOrder, Program::Dummies];

fn configuration(overlap: Overlap, metadata: Headers) -> PalermoConfiguration {
    let mut configuration = PalermoConfiguration::of_authors(LEVELS, overlap);
    configuration.top_levels = [1, 2, 3];
    configuration.metadata = metadata;
    configuration
}

fn serve(
    configuration: &PalermoConfiguration,
    program: Program,
    requests: u64,
    bug: Option<InjectedBug>,
) -> (PalermoOutcome, Vec<VisibleStep>) {
    let (blocks, mut random) = (configuration.blocks(), ChaCha8Rng::seed_from_u64(7));
    let requests = (0..requests).map(|nth| match program {
        Program::Uniform => Some(random.next_u64() % blocks),
        Program::OneBlock => Some(17),
        Program::InOrder => Some(nth % blocks),
        Program::Dummies => None,
    });
    let mut palermo = Palermo::new(configuration.clone(), 3).expect("sound trees");
    palermo.bug = bug;
    let mut steps = Vec::new();
    let outcome = palermo.serve(requests, |step| steps.push(step)).expect("the requests");
    (outcome, steps)
}

/// Returns whether all steps follow the rules. It applies these a second time, to what is visible alone. That is the
/// cycle in which each step begins, the number of blocks, and when evictions come.
fn is_followed(configuration: &PalermoConfiguration, steps: &[VisibleStep]) -> bool {
    let mut visits: BTreeMap<(u64, usize), Vec<&VisibleStep>> = BTreeMap::new();
    for step in steps {
        visits.entry((step.request, step.tree)).or_default().push(step);
    }
    let mut reference = ReferenceSchedule::default();
    let requests = visits.len() as u64 / TREES as u64;
    (0..requests).all(|request| {
        let of_trees: Vec<&[&VisibleStep]> = (0..TREES).map(|tree| &visits[&(request, tree)][..]).collect();
        reference.follow(configuration, request, &of_trees)
    })
}

#[derive(Default)]
struct ReferenceSchedule {
    /// The cycle in which each request was finished, and all before it.
    finished: Vec<Cycle>,
    /// The cycle from which on each tree may be visited.
    released: [Cycle; TREES],
}

impl ReferenceSchedule {
    fn follow(
        &mut self,
        configuration: &PalermoConfiguration,
        request: u64,
        visits: &[&[&VisibleStep]],
    ) -> bool {
        let looks = usize::from(configuration.metadata == Headers::InMemory);
        let max = if configuration.overlap == Overlap::Writes { 1 } else { configuration.requests };
        let before = (request as usize).checked_sub(max).map_or(Cycle(0), |nth| self.finished[nth]);
        let (of_data, mut answered) = (self.released[TREES - 1], Cycle(0));
        let mut last = self.finished.last().copied().unwrap_or(Cycle(0));
        for (tree, steps) in visits.iter().enumerate() {
            let buckets = configuration.tree(tree).levels - configuration.top_levels[tree];
            let evicts = (request + 1).is_multiple_of(configuration.eviction_rate.into());
            if steps.len() != if evicts { 2 * (looks + 1) } else { looks + 1 } {
                return false;
            }
            let mut start = before.max(self.released[tree]);
            if configuration.overlap == Overlap::Requests {
                start = start.max(of_data);
            }
            if tree > 0 {
                let own = visits[tree - 1].last().map_or(Cycle(0), |step| step.end);
                start = start.max(answered);
                start = start.max(if configuration.overlap == Overlap::Writes { own } else { Cycle(0) });
            }
            let access = steps[looks];
            let is_plain = access.reads == buckets as usize && access.writes == looks * buckets as usize;
            self.released[tree] = match () {
                () if evicts => steps[steps.len() - 1].end,
                () if is_plain => {
                    if looks == 0 {
                        start
                    } else {
                        steps[0].end
                    }
                }
                () => access.end,
            };
            answered = access.end;
            for (nth, step) in steps.iter().enumerate() {
                if step.step != nth || step.start != start || access.reads < buckets as usize {
                    return false;
                }
                start = step.end;
            }
            last = last.max(start);
        }
        self.finished.push(last);
        true
    }
}

#[test]
fn each_step_begins_when_the_visible_ones_before_it_allow_whatever_is_asked() {
    for overlap in [Overlap::Writes, Overlap::Requests, Overlap::Trees] {
        for metadata in [Headers::InMemory, Headers::OnChip] {
            let configuration = configuration(overlap, metadata);
            for program in PROGRAMS {
                let (outcome, steps) = serve(&configuration, program, 300, None);
                assert_eq!(outcome.requests, 300);
                assert!(is_followed(&configuration, &steps), "{overlap:?}, {metadata:?}, {program:?}");
            }
        }
    }
}

#[test]
fn the_account_finds_a_request_that_its_stash_hurries() {
    for overlap in [Overlap::Requests, Overlap::Trees] {
        let configuration = configuration(overlap, Headers::InMemory);
        let (_, steps) = serve(&configuration, Program::OneBlock, 300, Some(InjectedBug::StashAnswersEarly));
        assert!(!is_followed(&configuration, &steps), "{overlap:?}");
    }
}

/// The leaves of the visits to a tree, and the bits that neighbours share.
fn findings(steps: &[VisibleStep], tree: usize) -> Vec<Finding> {
    let bits = configuration(Overlap::Trees, Headers::OnChip).tree(tree).levels - 1;
    let mut visits = BTreeMap::new();
    for step in steps.iter().filter(|step| step.tree == tree) {
        visits.entry(step.request).or_insert(step.leaf.0 >> (bits - 3));
    }
    let top: Vec<u64> = visits.into_values().collect();
    let counts = |cells: &mut dyn Iterator<Item = u64>| {
        let mut counts = vec![0u64; 8];
        cells.for_each(|cell| counts[cell as usize] += 1);
        counts
    };
    let pairs = (1..=16).map(|apart| {
        let shared = counts(&mut top.iter().zip(&top[apart..]).map(|(one, other)| one ^ other));
        uniform(format!("leaves {apart} apart"), &shared)
    });
    pairs.chain([uniform("leaves".into(), &counts(&mut top.iter().copied()))]).collect()
}

#[test]
fn paths_are_uniform_and_independent_whatever_is_asked() {
    let configuration = configuration(Overlap::Trees, Headers::OnChip);
    for program in PROGRAMS {
        let (_, steps) = serve(&configuration, program, 2000, None);
        for tree in 0..TREES {
            let alarm = findings(&steps, tree).into_iter().find(|finding| finding.log2_p < ALARM_LOG2);
            assert!(alarm.is_none(), "{program:?}, tree {tree}: {alarm:?}");
        }
    }
}

#[test]
fn a_path_that_a_second_request_of_the_block_reads_again_is_found() {
    let configuration = configuration(Overlap::Trees, Headers::OnChip);
    let (_, steps) = serve(&configuration, Program::OneBlock, 2000, Some(InjectedBug::PathIsReadAgain));
    assert!(findings(&steps, TREES - 1).iter().any(|finding| finding.log2_p < ALARM_LOG2));
}

#[test]
fn each_overlap_is_faster_than_the_one_before_and_all_move_the_same_blocks() {
    let run = |overlap| {
        let (outcome, steps) = serve(&configuration(overlap, Headers::InMemory), Program::Uniform, 600, None);
        (outcome.cycles as f64, steps.iter().map(|step| step.reads + step.writes).sum::<usize>())
    };
    let ring = run(Overlap::Nothing);
    let faster = [Overlap::Writes, Overlap::Requests, Overlap::Trees].map(run);
    assert!(faster.iter().all(|(_, blocks)| *blocks == ring.1));
    assert!(ring.0 > faster[0].0 && faster[0].0 > faster[1].0 && faster[1].0 > 1.2 * faster[2].0);
    assert!(ring.0 > 1.8 * faster[2].0, "{} and {}", ring.0, faster[2].0);
}

#[test]
fn a_block_that_is_not_there_and_options_out_of_range_are_clear_errors() {
    let mut good = configuration(Overlap::Trees, Headers::OnChip);
    let blocks = good.blocks();
    let mut palermo = Palermo::new(good.clone(), 1).expect("sound trees");
    let error = palermo.serve([Some(blocks)].into_iter(), |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("line {blocks} of the trace lies beyond the {blocks} lines of memory: map its pages first")
    );
    good.requests = 65;
    let error = Palermo::new(good.clone(), 1).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("65 requests in flight: give 1 to 64"));
    good.levels = 9;
    assert!(Palermo::new(good, 1).is_err());
}
