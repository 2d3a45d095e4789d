//! Disturbs a victim and its worker process from outside.

use crate::configuration::Configuration;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::process::Child;

pub(crate) struct Stressor {
    rng: ChaCha12Rng,
    victim: ProcessHandle,
    worker: Option<ProcessHandle>,
    has_worker: bool,
    kills_worker: bool,
    processors: CpuSet,
}

/// A process by its descriptor: signals never reach a later process with the same number.
struct ProcessHandle {
    pid: Pid,
    process: OwnedFd,
}

impl ProcessHandle {
    fn new(pid: i32) -> Option<Self> {
        let pid = Pid::from_raw(pid)?;
        Some(ProcessHandle { pid, process: pidfd_open(pid, PidfdFlags::empty()).ok()? })
    }

    /// Sends a signal to the process, which may have ended.
    fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.process, signal);
    }
}

impl Stressor {
    pub(crate) fn new(victim: &Child, configuration: &Configuration, seed: u64) -> Self {
        Stressor {
            rng: ChaCha12Rng::seed_from_u64(seed ^ configuration.seed),
            victim: ProcessHandle::new(victim.id() as i32)
                .expect("it was started, and nobody has waited for it"),
            worker: None,
            has_worker: configuration.options.second_process,
            kills_worker: configuration.kills_worker,
            processors: sched_getaffinity(None).expect("every thread has an affinity"),
        }
    }

    fn below(&mut self, many: u64) -> u64 {
        self.rng.next_u64() % many
    }

    /// Takes one action, then yields for a while.
    pub(crate) fn act(&mut self) {
        if self.has_worker && self.worker.is_none() {
            self.worker = worker(self.victim.pid);
        }
        match self.below(11) {
            0..3 => self.pause(true),
            3..7 => self.pause(false),
            7..9 => self.migrate(),
            9 => self.victim.signal(Signal::USR1),
            _ if self.kills_worker && self.below(8) == 0 => {
                if let Some(worker) = &self.worker {
                    worker.signal(Signal::KILL);
                }
            }
            _ => {}
        }
        let many = self.below(40);
        Self::yield_times(many);
    }

    /// Resumes the victim and its worker, on any processor.
    pub(crate) fn stop(&self) {
        for process in [Some(&self.victim), self.worker.as_ref()].into_iter().flatten() {
            process.signal(Signal::CONT);
            // It may have ended.
            let _ = sched_setaffinity(Some(process.pid), &self.processors);
        }
    }

    fn yield_times(times: u64) {
        for _ in 0..times {
            std::thread::yield_now();
        }
    }

    fn pause(&mut self, the_victim: bool) {
        let many = self.below(200);
        let process = if the_victim { Some(&self.victim) } else { self.worker.as_ref() };
        if let Some(process) = process {
            process.signal(Signal::STOP);
            Self::yield_times(many);
            process.signal(Signal::CONT);
        }
    }

    /// Moves a victim to one processor, or to all.
    fn migrate(&mut self) {
        let (the_victim, drawn) = (self.below(2) == 0, self.below(2 * CpuSet::MAX_CPU as u64) as usize);
        let mut set = self.processors;
        let there: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|number| set.is_set(*number)).collect();
        if drawn.is_multiple_of(2) {
            set = CpuSet::new();
            set.set(there[drawn / 2 % there.len()]);
        }
        let process = if the_victim { Some(&self.victim) } else { self.worker.as_ref() };
        if let Some(process) = process {
            // It may have ended.
            let _ = sched_setaffinity(Some(process.pid), &set);
        }
    }
}

/// The worker process, which is the victim's only child.
fn worker(victim: Pid) -> Option<ProcessHandle> {
    let victim = victim.as_raw_nonzero();
    let tasks = std::fs::read_dir(format!("/proc/{victim}/task")).ok()?;
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let pid = children.collect::<String>().split_whitespace().next()?.parse().ok()?;
    let process = ProcessHandle::new(pid)?;
    // It is still a child, so the descriptor is the right one.
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.contains(&format!("PPid:\t{victim}\n")).then_some(process)
}
