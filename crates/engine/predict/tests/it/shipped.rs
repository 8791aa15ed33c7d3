//! What is told of shipped scenarios in which flows without an end send beside others, against simulations.

use std::path::{Path, PathBuf};

use shortflow_measure::{Estimate, Summary};
use shortflow_predict::Prediction;
use shortflow_run::Engine;
use shortflow_scenario::{Overrides, load};

use crate::against_simulations::{holds, predicted, simulated};

/// The scenarios with flows without an end and a place for a policy.
const FILLED: [&str; 3] = ["modem", "office", "voice-and-web"];

const REPLICAS: u32 = 4;

fn shipped(folder: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    root.join(folder).join(name).with_extension("toml")
}

/// What both engines tell of a scenario under a policy, where one is predicted at all.
fn reported(scenario: &str, policy: &str) -> Option<(Summary, Summary)> {
    let overrides = Overrides { policy: Some(shipped("policies", policy)), ..Overrides::default() };
    let loaded = load(&shipped("scenarios", scenario), &overrides);
    let loaded = loaded.unwrap_or_else(|reported| panic!("{reported}"));
    let scenario = &loaded.points()[0].scenario;
    Prediction.check(scenario).ok()?;
    Prediction.answers(scenario).ok()?;
    Some((predicted(scenario), simulated(scenario, REPLICAS)))
}

/// Every figure of waits and losses, by what it is of.
fn figures(summary: &Summary) -> Vec<(String, Estimate)> {
    let mut found = Vec::new();
    let mut add = |of: String, figure: Option<Estimate>| {
        found.extend(figure.map(|figure| (of, figure)));
    };
    for workload in &summary.workloads {
        let name = &workload.name;
        add(name.clone(), workload.all.mean);
        if let Some(datagrams) = &workload.datagrams {
            add(format!("{name}: delay"), datagrams.delay);
            add(format!("{name}: loss"), datagrams.loss);
        }
    }
    for port in &summary.ports {
        add(format!("{}: wait", port.name), port.mean_wait);
        add(format!("{}: loss", port.name), port.loss);
    }
    found
}

fn value(summary: &Summary, what: &str) -> f64 {
    estimate(summary, what).mean
}

fn estimate(summary: &Summary, what: &str) -> Estimate {
    let found = figures(summary).into_iter().find(|(of, _)| of == what);
    found.unwrap_or_else(|| panic!("no figure for {what}")).1
}

#[test]
fn what_is_told_as_a_bound_is_one_in_shipped_scenarios_that_long_flows_fill_under_every_policy() {
    let folder = shipped("policies", "stf").with_file_name("");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let policies = files.filter(|file| file.extension().is_some_and(|kind| kind == "toml"));
    let policies = policies.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    let mut bounds = 0;
    for policy in policies {
        for scenario in FILLED {
            let Some((model, simulation)) = reported(scenario, &policy) else { continue };
            let simulation = figures(&simulation);
            for (what, min) in figures(&model).into_iter().filter(|(_, reported)| reported.at_least)
            {
                let (_, found) = simulation.iter().find(|(of, _)| *of == what).unwrap();
                println!("{scenario}, {policy}, {what}: from {:.5}, {:.5}", min.mean, found.mean);
                assert!(min.mean <= found.mean, "{scenario}, {policy}, {what}");
                bounds += 1;
            }
        }
    }
    assert!(bounds >= 20, "{bounds}");
}

#[test]
fn behind_who_has_sent_least_a_flow_without_an_end_hardly_delays_others() {
    let (model, simulation) = reported("voice-and-web", "stf").unwrap();
    for what in ["voice_up: delay", "web"] {
        holds(what, value(&model, what), value(&simulation, what), 0.05);
    }
    let (model, simulation) = reported("office", "stf").unwrap();
    holds("pages", value(&model, "pages"), value(&simulation, "pages"), 0.1);
}

/// Pages of which every reader's are younger than the calls go before these.
#[test]
fn streams_behind_younger_transfers_have_no_closed_form_where_who_has_sent_least_is_served() {
    let (model, _) = reported("office", "stf").unwrap();
    assert!(figures(&model).iter().all(|(of, reported)| of != "calls: delay" || reported.at_least));
}

/// Two uploads beside calls, requests and acknowledgements: a third of the queue's packets are full ones.
#[test]
fn a_queue_that_small_packets_share_is_as_long_as_all_of_them_together() {
    for policy in ["red", "tsw2cm", "fair-marker"] {
        let (model, simulation) = reported("voice-and-web", policy).unwrap();
        for what in ["voice_up: delay", "web"] {
            let (name, estimate) = (format!("{policy}, {what}"), estimate(&model, what));
            let simulated = value(&simulation, what);
            match estimate.at_least {
                // Waits behind windows are known only roughly, and are most of a page's time here.
                true => assert!(what == "web" && estimate.mean <= simulated, "{name}"),
                false => holds(&name, estimate.mean, simulated, 0.25),
            }
        }
    }
}
