//! The torments of a victim and of the process beside it, from outside.

use crate::configuration::Configuration;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::Child;

pub(crate) struct Tormentor {
    rng: ChaCha12Rng,
    victim: Someone,
    beside: Option<Someone>,
    has_beside: bool,
    kills: bool,
    processors: CpuSet,
}

/// A process by its descriptor: a signal never goes to another that has its number later.
struct Someone {
    pid: Pid,
    process: OwnedFd,
}

impl Someone {
    fn new(pid: i32) -> Option<Self> {
        let pid = Pid::from_raw(pid)?;
        Some(Someone { pid, process: pidfd_open(pid, PidfdFlags::empty()).ok()? })
    }

    /// It may have ended.
    fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.process, signal);
    }
}

impl Tormentor {
    pub(crate) fn new(victim: &Child, configuration: &Configuration, seed: u64) -> Self {
        Tormentor {
            rng: ChaCha12Rng::seed_from_u64(seed ^ configuration.seed),
            victim: Someone::new(victim.id() as i32).expect("it was started, and nobody has waited for it"),
            beside: None,
            has_beside: configuration.options.second_process,
            kills: configuration.kills,
            processors: sched_getaffinity(None).expect("every thread has an affinity"),
        }
    }

    fn below(&mut self, many: u64) -> u64 {
        self.rng.next_u64() % many
    }

    /// Does one thing, and then nothing for a while.
    pub(crate) fn torment(&mut self) {
        if self.has_beside && self.beside.is_none() {
            self.beside = beside(self.victim.pid);
        }
        match self.below(11) {
            0..3 => self.stop_and_continue(true),
            3..7 => self.stop_and_continue(false),
            7..9 => self.move_about(),
            9 => self.victim.signal(Signal::USR1),
            _ if self.kills && self.below(8) == 0 => {
                if let Some(beside) = &self.beside {
                    beside.signal(Signal::KILL);
                }
            }
            _ => {}
        }
        let many = self.below(40);
        Self::let_others_run(many);
    }

    /// Lets both go on, on any processor.
    pub(crate) fn leave_alone(&self) {
        for someone in [Some(&self.victim), self.beside.as_ref()].into_iter().flatten() {
            someone.signal(Signal::CONT);
            // It may have ended.
            let _ = sched_setaffinity(Some(someone.pid), &self.processors);
        }
    }

    fn let_others_run(times: u64) {
        for _ in 0..times {
            std::thread::yield_now();
        }
    }

    fn stop_and_continue(&mut self, the_victim: bool) {
        let many = self.below(200);
        let someone = if the_victim { Some(&self.victim) } else { self.beside.as_ref() };
        if let Some(someone) = someone {
            someone.signal(Signal::STOP);
            Self::let_others_run(many);
            someone.signal(Signal::CONT);
        }
    }

    /// To one processor, or to all.
    fn move_about(&mut self) {
        let (the_victim, drawn) = (self.below(2) == 0, self.below(2 * CpuSet::MAX_CPU as u64) as usize);
        let mut set = self.processors;
        let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect();
        if drawn.is_multiple_of(2) {
            set = CpuSet::new();
            set.set(there[drawn / 2 % there.len()]);
        }
        let someone = if the_victim { Some(&self.victim) } else { self.beside.as_ref() };
        if let Some(someone) = someone {
            // It may have ended.
            let _ = sched_setaffinity(Some(someone.pid), &set);
        }
    }
}

/// The process beside, which is the victim's only child.
fn beside(victim: Pid) -> Option<Someone> {
    let victim = victim.as_raw_nonzero();
    let tasks = std::fs::read_dir(format!("/proc/{victim}/task")).ok()?;
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let pid = children.collect::<String>().split_whitespace().next()?.parse().ok()?;
    let someone = Someone::new(pid)?;
    // It still is, so that the descriptor is no other's.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.contains(&format!("PPid:\t{victim}\n")).then_some(someone)
}
