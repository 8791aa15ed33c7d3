//! Measures the forwarding speed of the router under several policies, and of the kernel itself.
//!
//! ```text
//! sender (namespace) ══▶ the router's loop, or the kernel ══▶ receiver (namespace)
//! ```
//!
//! The sender sends more than can be forwarded, and the receiver counts what arrives. Then it sends half as many, and
//! the receiver measures their delay. Ways are measured in turn, once in each round, each between two measurements of
//! the plain FIFO, or of the bare forwarder for the inline router. So a machine that is busy for a while slows the
//! compared ways equally.

mod datagrams;
mod forward;
mod inline;
mod summary;
mod way;

use nix::errno::Errno;
use shortflow_run::Error;
use shortflow_testbed::Home;

pub use summary::{SpeedSummary, Spread, summary};
pub use way::Way;

/// What is measured.
#[derive(Debug, Clone)]
pub struct SpeedPlan {
    /// The ways on which packets are forwarded.
    pub ways: Vec<Way>,
    /// Bytes of the datagrams, with their headers.
    pub sizes: Vec<u32>,
    /// How often everything is measured.
    pub rounds: u32,
    /// How long it is measured each time, in seconds.
    pub seconds: f64,
}

/// What was measured once.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// The way on which packets were forwarded.
    pub way: Way,
    /// Bytes of the datagrams, with their headers.
    pub size: u32,
    /// The round, counted from 0.
    pub round: u32,
    /// Datagrams that reached the receiver, per second.
    pub per_second: f64,
    /// CPU time of the router's thread for each of them, in nanoseconds, including the kernel's work until the
    /// receiver has the packet; `None` if the kernel forwards, in the sender's time.
    pub cpu_nanos: Option<f64>,
    /// The 99th percentile of how late packets were sent, in nanoseconds.
    pub late_nanos: Option<u64>,
    /// The 99th percentile of the time from sender to receiver at half of the rate `per_second`, in nanoseconds.
    pub delay_nanos: Option<f64>,
    /// The 99th percentile of how late the sender itself sent then, in nanoseconds: `delay_nanos` includes it.
    pub sender_late_nanos: Option<f64>,
}

/// Measures everything that is planned, and shows each figure as soon as it is there. It ends early when
/// `tell` says no.
///
/// # Errors
/// When the machine lacks something.
pub fn measure_speed(
    plan: &SpeedPlan,
    tell: &mut dyn FnMut(&Speed) -> bool,
) -> Result<Vec<Speed>, Error> {
    let home = Home::find().map_err(lacking)?;
    let mut found = Vec::new();
    for round in 0..plan.rounds {
        for &size in &plan.sizes {
            for way in in_turn(&plan.ways) {
                let speed = forward::measure(&home, way, size, plan.seconds)?;
                let speed = Speed { round, ..speed };
                found.push(speed);
                if !tell(&speed) {
                    return Err(Error::Interrupted);
                }
            }
        }
    }
    Ok(found)
}

/// The ways, with the one that they are compared with before and after each of the others if it is among them.
fn in_turn(ways: &[Way]) -> Vec<Way> {
    let Some(reference) = ways.first().map(|way| way.reference()).filter(|way| ways.contains(way))
    else {
        return ways.to_vec();
    };
    let others = ways.iter().filter(|way| **way != reference);
    std::iter::once(reference).chain(others.flat_map(|&way| [way, reference])).collect()
}

fn lacking(what: impl std::fmt::Display) -> Error {
    Error::Machine(what.to_string())
}

/// Pins the thread to a processor of its own; to the last one if there are too few.
fn keep_on_processor(number: usize) -> Result<(), Errno> {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let this = Pid::from_raw(0);
    let allowed = sched_getaffinity(this)?;
    let all = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false));
    if let Some(cpu) = all.take(number + 1).last() {
        let mut one = CpuSet::new();
        one.set(cpu)?;
        sched_setaffinity(this, &one)?;
    }
    Ok(())
}
