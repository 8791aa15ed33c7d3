//! What customers can expect at busy times: their shares when a part of all, drawn at random, is busy.

use serde_json::{Value, json};
use shortflow_units::{Probability, Rng};

use crate::model::{Direction, Plans};

/// Customers that are drawn together, and draws at most; all of them are drawn once.
const DRAWN: usize = 20_000;
const MAX_DRAWS: usize = 200;
/// The seed of the draws: the same plans have the same forecast.
const SEED: u64 = 1;

/// What busy customers get of their plans behind a site or the line, where a part of all customers is busy.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// The part of all customers that is busy.
    pub busy: f64,
    /// A site, an index of [`Plans::sites`]; `None` for the line.
    pub site: Option<usize>,
    /// In each direction; `None` where no customer of the site was drawn.
    pub parts: [Option<Parts>; 2],
}

/// Parts of plans.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// The mean over customers and draws.
    pub mean: f64,
    /// Nine of ten get at least this.
    pub least_of_nine: f64,
}

impl Plans {
    /// What customers behind the line and each site get when this part of all customers is busy: at least one.
    pub fn forecast(&self, busy: Probability) -> Vec<Expected> {
        let count = self.count(busy);
        let draws = match count >= self.customers.len() {
            true => 1,
            false => (DRAWN / count).clamp(1, MAX_DRAWS),
        };
        let parts = Direction::ALL.map(|direction| self.parts(direction, count, draws));
        let [down, up] = parts;
        let places = std::iter::once(None).chain((0..self.sites.len()).map(Some));
        let all = places.zip(down.into_iter().zip(up));
        all.map(|(site, (down, up))| Expected { busy: busy.value(), site, parts: [down, up] })
            .collect()
    }

    /// A part of all customers, at least one.
    fn count(&self, busy: Probability) -> usize {
        ((busy.value() * self.customers.len() as f64).round() as usize).max(1)
    }

    /// The customers that are busy, drawn with this seed, in order.
    pub(crate) fn busy(&self, busy: Probability, seed: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.customers.len()).collect();
        let mut random = Rng::stream(seed, "busy customers");
        let mut drawn = drawn(&mut random, &mut order, self.count(busy)).to_vec();
        drawn.sort_unstable();
        drawn
    }

    /// For the line and then each site.
    fn parts(&self, direction: Direction, count: usize, draws: usize) -> Vec<Option<Parts>> {
        let mut random = Rng::stream(SEED, "busy customers");
        let mut found = vec![Vec::new(); 1 + self.sites.len()];
        let mut order: Vec<usize> = (0..self.customers.len()).collect();
        for _ in 0..draws {
            let drawn = drawn(&mut random, &mut order, count);
            let mut is_busy = vec![false; self.customers.len()];
            drawn.iter().for_each(|at| is_busy[*at] = true);
            let shares = self.shares(direction, &is_busy);
            for at in drawn {
                let customer = &self.customers[*at];
                let part = shares[*at] / customer.plan.of(direction).bits_per_sec() as f64;
                found[0].push(part);
                self.path(customer.site).for_each(|site| found[1 + site].push(part));
            }
        }
        found.into_iter().map(Parts::of).collect()
    }

    /// The same for programs.
    pub fn forecast_values(&self, busy: Probability) -> Vec<Value> {
        let of = |parts: &Option<Parts>| match parts {
            None => Value::Null,
            Some(parts) => json!({ "mean": parts.mean, "nine_of_ten": parts.least_of_nine }),
        };
        let place = |one: &Expected| {
            json!({
                "busy": one.busy, "site": one.site.map(|site| &self.sites[site].name),
                "down": of(&one.parts[0]), "up": of(&one.parts[1]),
            })
        };
        self.forecast(busy).iter().map(place).collect()
    }
}

/// So many of `order`, drawn at random: the first of a shuffle (Fisher and Yates).
fn drawn<'o>(random: &mut Rng, order: &'o mut [usize], count: usize) -> &'o [usize] {
    let count = count.min(order.len());
    for at in 0..count {
        let other = at + random.below((order.len() - at) as u64) as usize;
        order.swap(at, other);
    }
    &order[..count]
}

impl Parts {
    fn of(mut all: Vec<f64>) -> Option<Parts> {
        all.sort_by(f64::total_cmp);
        let least_of_nine = *all.get(all.len() / 10)?;
        Some(Parts { mean: all.iter().sum::<f64>() / all.len() as f64, least_of_nine })
    }
}
