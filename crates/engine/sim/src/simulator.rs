//! The simulator as an engine.

use shortflow_measure::Warning;
use shortflow_run::{Engine, Error, Measured, Observers, Outcome, Refusal, Task, end_of, ports};
use shortflow_scenario::{IpVersion, Scenario};
use shortflow_units::Instant;

use crate::build;
use crate::event::calendar::Calendar;
use crate::record::replica::{Watched, refuse_beyond, run_replica_watched};
use crate::without_effect::{WITHOUT_EFFECT, WITHOUT_EFFECT_OVER_IPV4};

/// The simulator as an engine: every packet, in simulated time. It is deterministic, and replicas do not
/// affect each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Simulator;

impl Engine for Simulator {
    fn name(&self) -> &'static str {
        "simulate"
    }

    fn identity(&self) -> &str {
        env!("SHORTFLOW_ENGINE")
    }

    fn check(&self, scenario: &Scenario) -> Result<(), Refusal> {
        let horizon = Calendar::horizon_of(build::entities(scenario));
        refuse_beyond(horizon, ports(scenario).count(), scenario)
    }

    fn run(&self, task: &Task<'_>, observers: Observers<'_>) -> Result<Outcome, Error> {
        let Observers { transfers, tap, tcp_info, look } = observers;
        let end = end_of(task.scenario).as_secs_f64();
        let look = |now: Instant| look(now.as_secs_f64() / end);
        let found = run_replica_watched(
            Watched { transfers, tap, tcp_info },
            task.scenario,
            task.replica,
            look,
        )?;
        let is_over_v6 = task.scenario.workloads.iter().any(|w| w.ip == IpVersion::V6);
        let of_v4 = if is_over_v6 { &[][..] } else { WITHOUT_EFFECT_OVER_IPV4 };
        let declared = [WITHOUT_EFFECT, of_v4].concat();
        let notes = task.scenario.without_effect(&declared, "simulate");
        let warnings = Warning::all(notes);
        let classes = Some(found.classes);
        Ok(Outcome { warnings, classes, ..Measured::Replica(Box::new(found.replica)).into() })
    }
}
