//! What plans are, in a few lines.

use serde_json::{Value, json};
use shortflow_units::Rate;

use crate::model::{Direction, Plans};

/// A site or the line, in one direction.
struct Load {
    rate: Rate,
    plans: Rate,
    floors: Rate,
}

impl Load {
    /// Sum of plans ÷ rate.
    fn oversubscription(&self) -> f64 {
        self.plans.bits_per_sec() as f64 / self.rate.bits_per_sec() as f64
    }
}

/// A site or the line.
struct Place<'p> {
    name: &'p str,
    parent: Option<&'p str>,
    customers: u64,
    loads: [Load; 2],
}

impl Plans {
    /// A summary in one line.
    pub fn summary(&self) -> String {
        let count = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        let prefixes = self.customers.iter().map(|customer| customer.addresses.len()).sum();
        format!(
            "plans {:?}: {} with {}, {}",
            self.name,
            count(self.customers.len(), "customer"),
            match prefixes {
                1 => "1 address or prefix".to_owned(),
                prefixes => format!("{prefixes} addresses and prefixes"),
            },
            count(self.sites.len(), "site")
        )
    }

    fn places(&self) -> Vec<Place<'_>> {
        let counts = self.sums(|_| Rate::from_bits_per_sec(1));
        let [down, up] = Direction::ALL.map(|direction| {
            let plans = self.sums(|one| one.plan.of(direction));
            let floors = self.sums(|one| self.floor(one, direction));
            (plans, floors)
        });
        let rate = Rate::from_bits_per_sec;
        let site = |(index, site): (usize, &'_ crate::Site)| {
            let load = |direction, (plans, floors): &(Vec<u64>, Vec<u64>)| Load {
                rate: site.rates.of(direction),
                plans: rate(plans[index]),
                floors: rate(floors[index]),
            };
            (counts[index], [load(Direction::Down, &down), load(Direction::Up, &up)])
        };
        let line = Direction::ALL.map(|direction| Load {
            rate: self.line.of(direction),
            plans: rate(
                self.customers.iter().map(|one| one.plan.of(direction).bits_per_sec()).sum(),
            ),
            floors: rate(
                self.customers.iter().map(|one| self.floor(one, direction).bits_per_sec()).sum(),
            ),
        });
        let line = Place {
            name: "line",
            parent: None,
            customers: self.customers.len() as u64,
            loads: line,
        };
        let sites = self.sites.iter().enumerate().map(|(index, of)| {
            let (customers, loads) = site((index, of));
            let parent = of.parent.map_or("line", |parent| self.sites[parent].name.as_str());
            Place { name: &of.name, parent: Some(parent), customers, loads }
        });
        std::iter::once(line).chain(sites).collect()
    }

    /// A line for the line and for each site: its customers, and the sum of their plans beside its rate.
    pub fn describe_loads(&self) -> String {
        let places = self.places();
        let width = places.iter().map(|place| place.name.chars().count()).max().unwrap_or(0);
        let mut text = String::new();
        for place in &places {
            let [down, up] = &place.loads;
            let of = |load: &Load| {
                format!("{} of {} ({:.2}×)", load.plans, load.rate, load.oversubscription())
            };
            text += &format!(
                "  {:width$}  {:>5} customers  down {}  up {}\n",
                place.name,
                place.customers,
                of(down),
                of(up)
            );
        }
        text
    }

    /// The same for programs.
    pub fn loads(&self) -> Value {
        let of = |load: &Load| {
            json!({
                "rate_bit_per_s": load.rate.bits_per_sec(),
                "plans_bit_per_s": load.plans.bits_per_sec(),
                "at_least_bit_per_s": load.floors.bits_per_sec(),
                "oversubscription": load.oversubscription(),
            })
        };
        let place = |place: &Place<'_>| {
            let [down, up] = &place.loads;
            json!({
                "site": place.parent.map(|_| place.name), "parent": place.parent,
                "customers": place.customers, "down": of(down), "up": of(up),
            })
        };
        self.places().iter().map(place).collect()
    }
}
