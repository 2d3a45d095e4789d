//! Compares the state of a drawn tree with the state of a tree that was filled by accesses. These access every block
//! once in a random order, and then random blocks, several times as many.
//!
//!     cargo run --release -p ameles-simulator --example steady_state -- [levels] [times] [1 for IR-Alloc]

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_processor::trace::{Kind, Miss};
use ameles_processor::units::Line;
use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::{Contents, FilledTree};
use ameles_simulator::tree::steady_state::History;
use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

fn main() {
    let argument = |nth: usize, default: u64| -> u64 {
        std::env::args().nth(nth).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let (levels, times) = (argument(1, 18) as u32, argument(2, 3));
    let scheme = if argument(3, 0) == 1 { Scheme::IrAlloc } else { Scheme::Baseline };
    let configuration = Configuration::baseline(levels).with_scheme(scheme);
    let lines = configuration.oram.user_blocks;
    let machine = |contents| Machine::new(configuration.clone(), contents, 1).expect("a sound configuration");
    let mut accessed = machine(Contents::Empty);
    let mut random = ChaCha8Rng::seed_from_u64(2);
    for history in [History::Filled, History::Random] {
        let tree = FilledTree::draw(&configuration.oram, Contents::Steady(history), 1).expect("a sound tree");
        println!("{history:?}, drawn: {} blocks on the trusted side", tree.trusted_blocks());
    }
    println!("{levels} levels, {lines} blocks; the share of the slots that hold a block, from level 10 on");
    let mut order: Vec<u64> = (0..lines).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    let load = |line| Miss { instructions: 40, kind: Kind::Load, line: Line(line) };
    accessed.run(order.into_iter().map(load), 0, |_| ()).expect("the run");
    let print = |name: &str, machine: &Machine| {
        let levels: Vec<String> = machine.utilisation().1.iter().map(|share| format!("{share:.3}")).collect();
        println!("{name:<28} {}", levels.join(" "));
    };
    print("each accessed once", &accessed);
    print("each accessed once, drawn", &machine(Contents::Steady(History::Filled)));
    accessed.run((0..times * lines).map(|_| load(random.next_u64() % lines)), 0, |_| ()).expect("the run");
    print("random accesses", &accessed);
    print("random accesses, drawn", &machine(Contents::Steady(History::Random)));
}
