//! Rehearsals: what they refuse, and, where this machine can, how near they come to the simulation.

#![cfg(target_os = "linux")]

mod addresses;
#[allow(dead_code)]
#[path = "../../src/router/frames.rs"]
mod frames;
#[cfg(feature = "ebpf")]
mod growth;
mod hostile;
mod many;
mod passage;
mod rates;
mod real;
mod refusals;
mod shares;
mod source;
mod speed;
#[cfg(feature = "ebpf")]
mod tcp_state;

use std::sync::{Mutex, MutexGuard, PoisonError};

use shortflow_scenario::{Overrides, Scenario, from_texts};

/// The scenario of texts of which the first is its own.
fn scenario(texts: &[(&str, &str)]) -> Scenario {
    let loaded = from_texts(texts, &Overrides::default())
        .unwrap_or_else(|mistakes| panic!("the scenario has mistakes:\n{mistakes}"));
    loaded.into_points().swap_remove(0).scenario
}

/// Real time cannot be shared: one rehearsal at a time.
static MACHINE: Mutex<()> = Mutex::new(());

fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}
