//! Compares two runs with the same arrivals, measure by measure.

use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, paired, paired_gain, relative_gain};
use crate::measures::{Better, Measure, Subject};
use crate::reading::Reading;
use crate::replica::Replica;
use crate::results::{Point, Setting};
use crate::spread::{self, Spread};
use crate::survival::Survival;

/// One measure of two runs. Each difference is taken within a pair of replicas that had the same
/// arrivals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The workload.
    pub workload: String,
    /// The size class, for completion times; `all` for all together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What is measured.
    pub measure: Measure,
    /// In what unit the next three are.
    pub unit: String,
    /// The reference's.
    pub reference: Option<Estimate>,
    /// Ours.
    pub ours: Option<Estimate>,
    /// `ours − reference`; none, like the next two, where a side is known to a lower bound only.
    pub difference: Option<Estimate>,
    /// `ours / reference`: the geometric mean over pairs, with the interval of the logarithms. Absent if a figure is
    /// zero.
    pub ratio: Option<Estimate>,
    /// The gain in percent, above zero if ours is better; absent if the reference is zero.
    pub gain_percent: Option<Estimate>,
}

/// The gains of one run over the reference at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointGains {
    /// What the reference is called.
    pub reference: String,
    /// What the other run is called.
    pub ours: String,
    /// The number of the point, from 0.
    pub point: usize,
    /// What the sweep set there.
    pub settings: Vec<Setting>,
    /// The numbers of the replicas that both have.
    pub replicas: Vec<u32>,
    /// The measures.
    pub gains: Vec<Gain>,
}

/// The measures of transfers that are compared.
const OF_TRANSFERS: [Measure; 4] = [
    Measure::Completion,
    Measure::CompletionMedian,
    Measure::CompletionP95,
    Measure::CompletionP99,
];

/// The measures of everything else that are compared.
const OF_WORKLOADS: [Measure; 18] = [
    Measure::Delay,
    Measure::DelayAdded,
    Measure::DelayMedian,
    Measure::DelayP95,
    Measure::DelayP99,
    Measure::Jitter,
    Measure::JitterMedian,
    Measure::JitterP95,
    Measure::JitterP99,
    Measure::DatagramLoss,
    Measure::RFactor,
    Measure::OpinionScore,
    Measure::Goodput,
    Measure::DataGoodput,
    Measure::RequestGoodput,
    Measure::PacketLoss,
    Measure::LongFlowRate,
    Measure::Fairness,
];

/// Compares what two runs found at their point number `at`; `names` are what the reference and ours
/// are called. The runs must have had the same arrivals: one seed, and one setting of the sweep.
pub fn gains_at(at: usize, names: (&str, &str), reference: &Point, ours: &Point) -> PointGains {
    let pairs = pairs_of(reference, ours);
    let mut gains = Vec::new();
    for workload in pairs.first().into_iter().flat_map(|(first, _)| &first.workloads) {
        let of_workload = Subject { workload: &workload.name, ..Subject::default() };
        let labels = workload.classes.iter().map(|class| class.label.as_str());
        for label in labels.chain(["all"]) {
            let what = Subject { class: Some(label), ..of_workload };
            gains.extend(OF_TRANSFERS.iter().filter_map(|measure| gain(*measure, &what, &pairs)));
        }
        gains.extend(OF_WORKLOADS.iter().filter_map(|m| gain(*m, &of_workload, &pairs)));
    }
    PointGains {
        reference: names.0.to_owned(),
        ours: names.1.to_owned(),
        point: at,
        settings: reference.settings.clone(),
        replicas: pairs.iter().map(|(replica, _)| replica.number).collect(),
        gains,
    }
}

/// A figure of the values of both sides, such as their ratio.
type FigureOfPairs<'f> = &'f dyn Fn(&[f64], &[f64]) -> Option<Estimate>;

/// The replicas of one number of two runs. Where all are the same run on both sides they are one pair:
/// a difference that never varies says nothing of chance.
pub(crate) fn pairs_of<'p>(
    reference: &'p Point,
    ours: &'p Point,
) -> Vec<(&'p Replica, &'p Replica)> {
    // An interrupted run lacks some numbers.
    let other = |replica: &Replica| ours.replicas.iter().find(|o| o.number == replica.number);
    let pairs = reference.replicas.iter().filter_map(|r| Some((r, other(r)?)));
    let mut pairs: Vec<(&Replica, &Replica)> = pairs.collect();
    if Replica::are_identical(&reference.replicas) && Replica::are_identical(&ours.replicas) {
        pairs.truncate(1);
    }
    pairs
}

/// One measure, over the pairs that have it on both sides; none when no pair has.
fn gain(measure: Measure, what: &Subject<'_>, pairs: &[(&Replica, &Replica)]) -> Option<Gain> {
    let tells = |replica: &Replica| has_enough_transfers(measure, replica, what);
    if !pairs.iter().all(|(reference, ours)| tells(reference) && tells(ours)) {
        return None;
    }
    let readings =
        pairs.iter().filter_map(|(r, o)| measure.read(r, what).zip(measure.read(o, what)));
    let (reference, ours): (Vec<Reading>, Vec<Reading>) = readings.unzip();
    if reference.is_empty() {
        return None;
    }
    let both = Spread::all(&reference).zip(Spread::all(&ours));
    let estimate = |figure: FigureOfPairs<'_>| {
        let (reference, ours) = both.as_ref()?;
        spread::of_pairs(reference, ours, figure)
    };
    let about = measure.about();
    Some(Gain {
        workload: what.workload.to_owned(),
        class: what.class.map(str::to_owned),
        measure,
        unit: about.unit.symbol().to_owned(),
        reference: spread::estimate(&reference),
        ours: spread::estimate(&ours),
        difference: estimate(&paired),
        ratio: estimate(&geometric),
        gain_percent: estimate(&|reference, ours| percent(about.better, reference, ours)),
    })
}

/// Whether a replica has enough transfers for a percentile to mean something.
fn has_enough_transfers(measure: Measure, replica: &Replica, what: &Subject<'_>) -> bool {
    let quantile = match measure {
        Measure::CompletionMedian => 0.50,
        Measure::CompletionP95 => 0.95,
        Measure::CompletionP99 => 0.99,
        _ => return true,
    };
    let workload = replica.workload(what.workload);
    let class = workload.and_then(|workload| workload.class(what.class.unwrap_or("all")));
    class.is_some_and(|class| Survival::resolves(class.n(), quantile))
}

fn percent(better: Better, reference: &[f64], ours: &[f64]) -> Option<Estimate> {
    if reference.contains(&0.0) {
        return None;
    }
    match better {
        Better::Higher => {
            let gain = |(reference, ours): (&f64, &f64)| -relative_gain(*reference, *ours);
            Estimate::from_values(&reference.iter().zip(ours).map(gain).collect::<Vec<_>>())
        }
        Better::Lower | Better::Neither => paired_gain(reference, ours),
    }
}

/// The geometric mean of the ratios of pairs, with the interval of their logarithms.
fn geometric(reference: &[f64], ours: &[f64]) -> Option<Estimate> {
    if reference.iter().chain(ours).any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = reference.iter().zip(ours).map(|(r, o)| libm::log(o / r)).collect();
    let logs = Estimate::from_values(&logs)?;
    let (low, high) = (logs.low.map(libm::exp), logs.high.map(libm::exp));
    Some(Estimate { mean: libm::exp(logs.mean), low, high, ..logs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_pairs_is_geometric() {
        let ratio = geometric(&[1.0, 2.0], &[2.0, 16.0]).unwrap();
        assert!((ratio.mean - 4.0).abs() < 1e-12); // √(2 · 8)
        assert!((ratio.low.unwrap() * ratio.high.unwrap() - 16.0).abs() < 1e-9);
        assert_eq!(geometric(&[0.0], &[1.0]), None);
    }

    #[test]
    fn more_is_a_gain_where_more_is_better() {
        assert_eq!(percent(Better::Higher, &[2.0], &[3.0]).unwrap().mean, 50.0);
        assert_eq!(percent(Better::Lower, &[2.0], &[3.0]).unwrap().mean, -50.0);
        assert_eq!(percent(Better::Lower, &[0.0], &[3.0]), None);
    }
}
