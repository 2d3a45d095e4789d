//! The answers of the programs, in full size and in small, and the memory that they take.

use ameles_programs::sizes::{self, small};
use ameles_programs::{
    PROGRAMS, Start, WrongAnswer, avl_tree, lbm, random_writes, recommender, run, run_small, sha_256,
};

/// The number of pages that are resident when the paper measures.
const RESIDENT: u64 = 15;
const PAGE: u64 = 4096;

#[test]
fn small_sizes_give_the_pinned_answers() {
    assert_eq!(random_writes::run(&small::RANDOM_WRITES.size), small::RANDOM_WRITES.answer);
    assert_eq!(sha_256::run(&small::SHA_256.size), small::SHA_256.answer);
    assert_eq!(avl_tree::run(&small::AVL_TREE.size), small::AVL_TREE.answer);
    assert_eq!(lbm::run(&small::LBM.size), small::LBM.answer);
    assert_eq!(recommender::run(&small::RECOMMENDER.size), small::RECOMMENDER.answer);
    assert_eq!(run_small("lbm").as_deref(), Some(small::LBM.answer));
    assert_eq!(run_small("picosat"), None);
}

#[test]
fn full_sizes_give_the_pinned_answers_within_their_memory() {
    let mut runs = 0;
    for program in PROGRAMS {
        for own in program.runs {
            let Start::Own(name) = own.start else { continue };
            let mut answer = None;
            let memory = allocation_counter::measure(|| answer = run(name)).bytes_max;
            let answer = answer.expect("a program of the list runs");
            assert_eq!(own.check(answer.as_bytes()), Ok(()));
            assert!(memory > 10 * RESIDENT * PAGE, "{name} takes {memory} bytes, too few to page much");
            assert!(memory < 48 << 20, "{name} takes {memory} bytes and does not fit 64 MiB with K = 3");
            runs += 1;
        }
    }
    assert_eq!(runs, 5);
}

#[test]
fn every_seed_matters() {
    let seed = 99;
    let other = random_writes::run(&random_writes::Size { seed, ..small::RANDOM_WRITES.size });
    assert_ne!(other, small::RANDOM_WRITES.answer);
    assert_ne!(sha_256::run(&sha_256::Size { seed, ..small::SHA_256.size }), small::SHA_256.answer);
    assert_ne!(avl_tree::run(&avl_tree::Size { seed, ..small::AVL_TREE.size }), small::AVL_TREE.answer);
    let other = recommender::run(&recommender::Size { seed, ..small::RECOMMENDER.size });
    assert_ne!(other, small::RECOMMENDER.answer);
}

#[test]
fn a_wrong_answer_is_noticed() {
    for program in PROGRAMS {
        for run in program.runs {
            assert!(matches!(run.check(b"0\n"), Err(WrongAnswer::Other { .. })), "{}", run.name);
            assert!(run.check(b"").is_err(), "{}", run.name);
        }
    }
}

#[test]
fn the_papers_own_sizes_are_kept() {
    let random_writes::Size { pages, writes, .. } = sizes::RANDOM_WRITES.size;
    assert_eq!((pages, writes), (1000, 10_000));
    assert_eq!(sizes::SHA_256.size.pages, 1024);
    assert_eq!(sizes::AVL_TREE.size.changes, 100_000);
}
