//! What each engine makes of a policy and a scenario, as texts that can be compared.

use shortflow_deploy::{Kernel, Kind, Owners, Settings, Tree, compile, compile_edge};
use shortflow_policy::Policy;
use shortflow_predict::Prediction;
use shortflow_rehearse::Rehearsal;
use shortflow_run::{Engine, Measured, Observers, Task};
use shortflow_scenario::Loaded;
use shortflow_sim::run_replica;
use shortflow_units::Rate;

/// What an engine makes of it: a text that differs where its answer does, and what it says besides; or why it refuses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Given { text: String, notes: Vec<String> },
    Refused(String),
}

/// What stands in results whatever runs: names and descriptions, the points, the limits, the nodes.
fn heading(loaded: &Loaded) -> String {
    let points: Vec<_> = loaded.points().iter().map(|point| &point.label).collect();
    let scenario = &loaded.points()[0].scenario;
    let nodes: Vec<_> = scenario.nodes.iter().map(|node| &node.name).collect();
    let policy = scenario.policy.as_ref().map(|policy| (&policy.name, &policy.description));
    format!(
        "{} {} {policy:?} {:?} {points:?} {:?} {} {nodes:?}",
        loaded.name, scenario.description, loaded.axes, scenario.measure.limits, scenario.replicas
    )
}

/// The first replica of the first point.
pub(crate) fn simulated(loaded: &Loaded) -> Answer {
    let scenario = &loaded.points()[0].scenario;
    match run_replica(scenario, 0, None, |_| true) {
        Ok(found) => {
            let text = format!("{}\n{:?}", heading(loaded), found.replica);
            Answer::Given { text, notes: Vec::new() }
        }
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// What has no closed form is refused by its name, in a note beside the rest.
pub(crate) fn predicted(loaded: &Loaded) -> Answer {
    let scenario = &loaded.points()[0].scenario;
    if let Err(refusal) = Prediction.answers(scenario) {
        return Answer::Refused(refusal.0);
    }
    let observers = Observers { transfers: None, tap: None, tcp_info: None, look: &mut |_| true };
    match Prediction.run(&Task { scenario, replica: 0 }, observers) {
        Ok(outcome) => {
            let Measured::Means(summary) = outcome.measured else { panic!("predicted are means") };
            let text = format!("{}\n{summary:?}", heading(loaded));
            let notes = outcome.warnings.into_iter().map(|warning| warning.message).collect();
            Answer::Given { text, notes }
        }
        Err(error) => Answer::Refused(error.to_string()),
    }
}

/// What hosts and sockets are given. The routers are those of the simulator, so that the rest is asked of that.
pub(crate) fn rehearsed(loaded: &Loaded) -> Answer {
    let scenario = &loaded.points()[0].scenario;
    let rehearsal = Rehearsal::OVER_IPV4;
    let settings = rehearsal
        .check(scenario)
        .and_then(|()| Ok((rehearsal.tcp_settings(scenario)?, rehearsal.tcp_notes(scenario)?)));
    match settings {
        Ok((text, notes)) => Answer::Given { text, notes },
        Err(refusal) => Answer::Refused(refusal.0),
    }
}

/// The commands and the program of each role, on a kernel that has everything, where the nearest is taken.
pub(crate) fn deployed(policy: &Policy) -> Answer {
    let settings = Settings {
        rate: Some(Rate::from_bits_per_sec(10_000_000)),
        link_header: 14,
        link_layer: None,
        kernel: Kernel::new([(Kind::BpfQdisc, true)]),
        nearest: true,
    };
    let (mut text, mut notes) = (String::new(), Vec::new());
    for role in &policy.roles {
        let edge = compile_edge(policy, role, &Owners::new());
        let tree = role.queue.as_ref().map(|_| compile(policy, role, &settings)).transpose();
        match (edge, tree) {
            (Ok(edge), Ok(tree)) => {
                let edge = edge.map(|edge| format!("{:?} {}", edge.classes, edge.plan.shape()));
                notes.extend(tree.iter().flat_map(|tree| tree.notes.clone()));
                let tree = tree.map(|tree| Tree { notes: Vec::new(), ..tree });
                text += &format!("{edge:?} {tree:?}\n");
            }
            (edge, tree) => {
                let refusals = edge.err().into_iter().chain(tree.err()).flatten();
                let each: Vec<_> = refusals.map(|refusal| refusal.to_string()).collect();
                return Answer::Refused(each.join("; "));
            }
        }
    }
    Answer::Given { text, notes }
}
