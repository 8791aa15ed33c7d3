//! The interface for an observer of a running rehearsal, who may switch its policy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shortflow_run::{port_name, ports};
use shortflow_scenario::Scenario;
use shortflow_sim::{Hosts, LiveNetwork, NetworkSnapshot};
use shortflow_units::{Duration, Instant, Rate};

/// How often the network is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Shows how the network of a rehearsal stands, and asks it for another policy.
#[derive(Debug)]
pub struct Monitor {
    /// The ports that are looked at.
    ports: Vec<WatchedPort>,
    numbers: Vec<usize>,
    /// The scenario under each policy, the first of which is bound at the start.
    policies: Vec<(String, Scenario)>,
    wanted: Arc<AtomicUsize>,
    last: Mutex<NetworkSnapshot>,
    /// Which policy was bound when.
    switches: Mutex<Vec<(Instant, usize)>>,
}

/// A port that is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedPort {
    /// Its name in results: `r1->r2`.
    pub name: String,
    /// The rate of its line.
    pub rate: Rate,
}

impl Monitor {
    /// A board of a scenario under policies of these names, of which the first is bound at the start.
    ///
    /// # Panics
    /// When there is no scenario.
    pub fn new(policies: Vec<(String, Scenario)>) -> Monitor {
        let scenario = &policies[0].1;
        let numbers = LiveNetwork::ports_to_watch(scenario);
        let named: Vec<WatchedPort> = ports(scenario)
            .map(|(from, to, line)| WatchedPort {
                name: port_name(scenario, from, to),
                rate: line.rate,
            })
            .collect();
        let ports = numbers.iter().map(|&number| named[number].clone()).collect();
        let (last, switches) = (Mutex::default(), Mutex::default());
        Monitor { ports, numbers, policies, wanted: Arc::default(), last, switches }
    }

    /// The ports that are looked at, in the order of a glance.
    pub fn ports(&self) -> &[WatchedPort] {
        &self.ports
    }

    /// How the network stood a moment ago.
    pub fn last(&self) -> NetworkSnapshot {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name of the policy that is bound, or soon will be.
    pub fn policy(&self) -> &str {
        &self.policies[self.wanted.load(Ordering::Relaxed)].0
    }

    /// Whether there is more than one policy.
    pub fn has_others(&self) -> bool {
        self.policies.len() > 1
    }

    /// Each policy's name, and the scenario under it.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &(String, Scenario)> {
        self.policies.iter()
    }

    /// The number of the current or next policy; any holder may set it.
    pub(crate) fn wanted(&self) -> Arc<AtomicUsize> {
        self.wanted.clone()
    }

    /// The scenario under each policy.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = &Scenario> {
        self.policies.iter().map(|(_, scenario)| scenario)
    }

    /// Asks for the policy after this one; after the last comes the first.
    pub fn next_policy(&self) {
        let next = |wanted| Some((wanted + 1) % self.policies.len());
        let _ = self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// A note on the policies that were active, if there was more than one.
    pub(crate) fn switches_note(&self) -> Option<String> {
        let switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        let message = |(at, policy): &(Instant, usize)| {
            format!("to {} at {:.1} s", self.policies[*policy].0, at.as_secs_f64())
        };
        let message: Vec<String> = switches.iter().map(message).collect();
        let first = &self.policies[0].0;
        (!message.is_empty()).then(|| {
            format!(
                "The policy was switched during the run, from {first} {}: the figures cover all of \
                    these policies.",
                message.join(", ")
            )
        })
    }
}

/// The router's side of a board.
pub(crate) struct Shown<'b> {
    monitor: &'b Monitor,
    next_at: Instant,
    bound: usize,
}

impl<'b> Shown<'b> {
    pub(crate) fn new(monitor: &'b Monitor) -> Shown<'b> {
        Shown { monitor, next_at: Instant::START, bound: 0 }
    }

    /// Shows how the network stands, if it is time, and binds the policy that is wanted: the scenario under it,
    /// if it is another than before.
    #[inline]
    pub(crate) fn look(
        &mut self,
        network: &mut LiveNetwork,
        now: Instant,
        hosts: &mut dyn Hosts,
    ) -> Option<&'b Scenario> {
        if now < self.next_at {
            return None;
        }
        self.next_at = now + INTERVAL;
        self.act(network, now, hosts)
    }

    fn act(
        &mut self,
        network: &mut LiveNetwork,
        now: Instant,
        hosts: &mut dyn Hosts,
    ) -> Option<&'b Scenario> {
        let wanted = self.monitor.wanted.load(Ordering::Relaxed);
        let is_switched = wanted != self.bound;
        let scenario = &self.monitor.policies[wanted].1;
        if is_switched {
            self.bound = wanted;
            network.switch(scenario, hosts);
            let mut switches = self.monitor.switches.lock().unwrap_or_else(PoisonError::into_inner);
            switches.push((now, wanted));
        }
        // Whoever looks just now sees the next one.
        if let Ok(mut last) = self.monitor.last.try_lock() {
            *last = network.snapshot(&self.monitor.numbers);
        }
        is_switched.then_some(scenario)
    }
}
