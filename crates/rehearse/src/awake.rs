//! Processors that stay awake while packets have to leave in time.
//!
//! A virtual machine gives a processor that has nothing to do back to its host, which takes its time to return it: on a busy
//! host packets are then late by milliseconds. Who keeps the processor never waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::realtime::yield_to_all;

/// What the threads are called.
const NAME: &str = "awake";

/// The processors that this process may use do not sleep as long as this lives: on each a thread waits that runs only when
/// nothing else wants to.
#[derive(Debug)]
pub(crate) struct Awake {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps processors awake where the machine is a virtual one. Others wake up in microseconds.
    pub(crate) fn if_virtual() -> Option<Self> {
        let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        is_virtual(&told).then(Awake::begin)
    }

    fn begin() -> Self {
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let processors = (0..CpuSet::count()).filter(|&at| allowed.is_set(at) == Ok(true));
        let over = Arc::new(AtomicBool::new(false));
        // One that cannot be begun is missed by nobody.
        let threads = processors.filter_map(|processor| {
            let over = Arc::clone(&over);
            let stay = move || stay_awake(processor, &over);
            Builder::new().name(NAME.to_owned()).stack_size(1 << 16).spawn(stay).ok()
        });
        let threads = threads.collect();
        Awake { over, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Keeps a processor from sleep, at nobody's cost, until that is `over`.
fn stay_awake(processor: usize, over: &AtomicBool) {
    let mut only = CpuSet::new();
    let is_placed = only.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
    if is_placed.and_then(|()| yield_to_all()).is_err() {
        return;
    }
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

/// Whether processors are a virtual machine's, by what the kernel tells of them: those of x86 have a flag for it.
fn is_virtual(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scheduling policies of this process's threads of our name (proc_pid_stat(5), field 41).
    fn policies() -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let stats = tasks
            .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("stat")).ok());
        let fields = stats.filter_map(|stat| {
            let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
            (name == NAME).then(|| fields.split_whitespace().nth(38).unwrap().parse().unwrap())
        });
        fields.collect()
    }

    #[test]
    fn each_processor_is_kept_awake_by_a_thread_to_which_all_others_go_first() {
        let awake = Awake::begin();
        let allowed = std::thread::available_parallelism().unwrap().get();
        let idle = nix::libc::SCHED_IDLE;
        while policies() != vec![idle; allowed] {
            std::thread::yield_now();
        }
        drop(awake);
        assert!(policies().is_empty());
    }

    #[test]
    fn a_machine_is_virtual_when_its_processors_say_so() {
        assert!(is_virtual("processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n"));
        assert!(!is_virtual("processor\t: 0\nmodel name\t: hypervisor\nflags\t\t: fpu lahf_lm\n"));
        assert!(!is_virtual(""));
    }
}
