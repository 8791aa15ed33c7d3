//! The judge against data whose truth is known: how often it is wrong, and how much it sees.

use std::fmt::Write;
use std::path::Path;

use shortflow_measure::Reading;
use shortflow_study::judge::{Bound, Evidence, Looks, Region, Sequence, Verdict};
use shortflow_units::Rng;

const DRAWS: u32 = 10_000;
/// What a share of 5 % of the draws may exceed it by, by chance: four standard deviations.
const CHANCE: f64 = 4.0 * 0.0022;

/// How the logarithm of a replica's ratio spreads around the truth.
#[derive(Clone, Copy)]
enum Spread {
    Normal(f64),
    /// To the right, as of means in which some transfers took long: exponential, less its mean.
    Skewed(f64),
}

impl Spread {
    fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Spread::Normal(deviation) => deviation * normal(rng),
            Spread::Skewed(deviation) => rng.exponential(deviation) - deviation,
        }
    }
}

/// By Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - rng.uniform())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * rng.uniform())
}

/// The shares of draws in which a claim is held and refused, and the replicas that it took on average.
struct Rates {
    held: f64,
    refused: f64,
    replicas: f64,
}

/// A claim whose checks all have the ratio `truth`, judged against `region`.
fn rates(region: Region, truth: f64, spread: Spread, checks: usize) -> Rates {
    let looks = Looks::at(vec![8, 16, 32, 64]).unwrap();
    let mut rng = Rng::stream(1, "judge");
    let (mut held, mut refused, mut replicas) = (0, 0, 0);
    for _ in 0..DRAWS {
        let mut ours: Vec<Vec<Reading>> = vec![Vec::new(); checks];
        let mut sequence = Sequence::new(&looks, checks);
        for look in looks.replicas() {
            for ours in &mut ours {
                let more = *look as usize - ours.len();
                let draw = |_| Reading::Exact(truth * libm::exp(spread.draw(&mut rng)));
                ours.extend((0..more).map(draw));
            }
            let test = |ours: &Vec<Reading>| Some(region.test(&Evidence::of_ratio_to(ours, 1.0)));
            sequence.look(&ours.iter().map(test).collect::<Vec<_>>());
            replicas += *look - ours_before(&looks, *look);
            match sequence.verdict() {
                Verdict::Holds => held += 1,
                Verdict::Fails => refused += 1,
                Verdict::Depends | Verdict::Unsettled => continue,
            }
            break;
        }
    }
    let share = |count: u32| f64::from(count) / f64::from(DRAWS);
    Rates { held: share(held), refused: share(refused), replicas: share(replicas) }
}

/// The replicas of the look before.
fn ours_before(looks: &Looks, look: u32) -> u32 {
    looks.replicas().iter().copied().filter(|before| *before < look).max().unwrap_or_default()
}

const BELOW: Region = Region::to(Bound::open(1.0));
const FAR_BELOW: Region = Region::to(Bound::closed(0.5));
const ALIKE: Region = Region::within(0.9, 1.1);
const FIGURE: Region = Region::within(1.0 / 1.5, 1.5);

#[test]
fn what_is_not_so_is_held_in_at_most_one_case_in_twenty() {
    // Each just at the end of its region, where it is hardest to tell.
    for (region, truth) in [(BELOW, 1.0), (FAR_BELOW, 0.5), (ALIKE, 1.1), (FIGURE, 1.0 / 1.5)] {
        for spread in [Spread::Normal(0.1), Spread::Normal(0.4)] {
            let held = rates(region, truth, spread, 1).held;
            assert!(held <= 0.05 + CHANCE, "{region:?} at {truth}: {held}");
        }
    }
}

#[test]
fn what_is_so_is_refused_in_at_most_one_case_in_twenty_whatever_the_number_of_checks() {
    for checks in [1, 8] {
        for (region, truth) in [(FAR_BELOW, 0.5), (ALIKE, 0.9), (FIGURE, 1.5)] {
            let refused = rates(region, truth, Spread::Normal(0.3), checks).refused;
            assert!(refused <= 0.05 + CHANCE, "{region:?} at {truth}, {checks} checks: {refused}");
        }
    }
}

/// Student's test leans on normal data. The table says how far off it is where they are skewed.
#[test]
fn the_rates_are_those_of_the_committed_table() {
    let mut table = String::from(
        "Of 10,000 claims with synthetic data, how many are held and refused, and the replicas that\n\
         this takes on average; looks at 8, 16, 32 and 64. Spread: the standard deviation of the\n\
         logarithm of a replica's ratio; skewed: exponential.\n\n\
         rule       checks  true ratio  spread       held  refused  replicas\n",
    );
    let mut row = |name: &str, region, checks, truth: f64, spread| {
        let rates = rates(region, truth, spread, checks);
        let spread = match spread {
            Spread::Normal(deviation) => format!("{deviation}"),
            Spread::Skewed(deviation) => format!("{deviation} skewed"),
        };
        let _ = writeln!(
            table,
            "{name:<10} {checks:>6} {truth:>11} {spread:>7}{:<4} {:>5.1} % {:>5.1} % {:>8.1}",
            "",
            100.0 * rates.held,
            100.0 * rates.refused,
            rates.replicas
        );
    };
    for truth in [0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2] {
        row("below", BELOW, 1, truth, Spread::Normal(0.2));
    }
    for truth in [0.9, 1.0, 1.1] {
        row("below", BELOW, 1, truth, Spread::Skewed(0.2));
    }
    for truth in [1.0, 1.05, 1.1, 1.2] {
        row("alike", ALIKE, 1, truth, Spread::Normal(0.1));
    }
    for truth in [1.0, 1.3, 1.5, 1.7, 2.0] {
        row("figure", FIGURE, 5, truth, Spread::Normal(0.3));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(table, committed, "renew it with BLESS=1 if this is meant");
}
