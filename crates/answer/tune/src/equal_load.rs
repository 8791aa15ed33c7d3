//! A value for thresholds by bytes sent that gives each priority the same load.

use shortflow_scenario::{Scenario, WorkloadKind};
use shortflow_units::Rng;
use shortflow_workloads::{Http, Visits};

use crate::option_error::OptionError;

/// How a value asks for them: `equal-load:8` is for eight priorities.
const PREFIX: &str = "equal-load:";

/// How many flows of a workload are drawn.
const SAMPLED_FLOWS: usize = 20_000;

/// The number of priorities that a value asks for, if it does.
pub(crate) fn levels(value: &str) -> Option<Result<usize, OptionError>> {
    let number = value.strip_prefix(PREFIX)?;
    let levels = number.trim().parse::<usize>().ok().filter(|levels| (2..=64).contains(levels));
    Some(levels.ok_or_else(|| {
        OptionError::new(
            format!("`{value}` has no valid number of priorities"),
            format!("write `{PREFIX}8`, with a number from 2 to 64"),
        )
    }))
}

/// The thresholds as a list for a policy: the flows of the scenario send equally much up to the first, between any
/// two, and beyond the last. `None` without transfers or pages. Long flows are omitted: they are beyond any
/// threshold.
pub(crate) fn thresholds(scenario: &Scenario, levels: usize) -> Option<String> {
    let mut flows = flows(scenario);
    flows.sort_by_key(|flow| flow.0);
    let cuts = cuts(&flows, levels)?;
    let each: Vec<String> = cuts.iter().map(|cut| format!("\"{cut} B\"")).collect();
    Some(format!("[{}]", each.join(", ")))
}

/// Flows with their bytes, each as often as its weight says.
fn flows(scenario: &Scenario) -> Vec<(u64, f64)> {
    let mut all = Vec::new();
    for workload in &scenario.workloads {
        let mut rng = Rng::stream(scenario.seed, &format!("equal load/{}", workload.name));
        let mut add = |weight: f64, draw: &mut dyn FnMut(&mut Rng) -> Vec<u64>| {
            for _ in 0..SAMPLED_FLOWS {
                all.extend(draw(&mut rng).into_iter().map(|bytes| (bytes.max(1), weight)));
            }
        };
        match &workload.kind {
            WorkloadKind::Transfers(plan) => {
                add(plan.rate, &mut |rng| vec![plan.reply.draw(rng).0])
            }
            WorkloadKind::Web(plan) => {
                let Visits::Browse { pages, think } = &plan.visits else { continue };
                let made = pages.pages(scenario.seed, &workload.name);
                let sessions = plan.sessions.pairs.len().max(1) as f64;
                // Page after page without a wait, at the most.
                add(sessions / think.mean().max(1e-3), &mut |rng| {
                    let page = made.visit(rng);
                    match plan.http {
                        Http::V11 { .. } => vec![page.size().0],
                        Http::V10 { .. } => page
                            .index
                            .iter()
                            .chain(page.objects.iter())
                            .map(|part| part.0)
                            .collect(),
                    }
                });
            }
            _ => {}
        }
    }
    all
}

/// Where the load of flows, which rise in bytes, is cut into equal parts.
fn cuts(flows: &[(u64, f64)], levels: usize) -> Option<Vec<u64>> {
    let all: f64 = flows.iter().map(|(bytes, weight)| *bytes as f64 * weight).sum();
    if all <= 0.0 {
        return None;
    }
    // Between two sizes every flow that is not complete sends alike.
    let mut left: f64 = flows.iter().map(|(_, weight)| weight).sum();
    let (mut sent, mut at) = (0.0, 0_u64);
    let mut cuts: Vec<u64> = Vec::new();
    for (bytes, weight) in flows {
        let part = (*bytes - at) as f64 * left;
        while cuts.len() + 1 < levels {
            let wanted = all * (cuts.len() + 1) as f64 / levels as f64;
            if wanted > sent + part {
                break;
            }
            cuts.push(at + ((wanted - sent) / left).round() as u64);
        }
        sent += part;
        at = *bytes;
        left -= weight;
    }
    cuts.dedup();
    cuts.retain(|cut| *cut > 0);
    (!cuts.is_empty()).then_some(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_one_size_are_cut_into_pieces_as_long_as_each_other() {
        assert_eq!(cuts(&[(8000, 1.0), (8000, 1.0)], 4), Some(vec![2000, 4000, 6000]));
    }

    #[test]
    fn what_small_and_large_flows_send_is_shared_alike() {
        // Nine flows of 1 KB and one of 91 KB send 100 KB: 10 KB up to the first kilobyte, then 90 by the large one alone.
        let flows = [(1000, 9.0), (91_000, 1.0)];
        assert_eq!(cuts(&flows, 10), Some((0..9).map(|n| 1000 + n * 10_000).collect()));
        assert_eq!(cuts(&flows, 2), Some(vec![41_000]));
    }

    #[test]
    fn a_number_of_priorities_is_asked_for_by_name() {
        assert_eq!(levels("equal-load:8"), Some(Ok(8)));
        assert_eq!(levels("[\"5 KB\"]"), None);
        assert!(levels("equal-load:1").unwrap().is_err());
        assert!(levels("equal-load:many").unwrap().is_err());
    }
}
