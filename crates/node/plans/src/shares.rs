//! What busy customers get of sites and the line: weighted max–min fairness over the tree, as HTB shares.
//!
//! Each busy customer gets at least its guarantee. What a site was guaranteed for its idle customers goes to its busy ones, from the
//! innermost site outwards; the line gives the rest. All who may still get more get it in proportion to their
//! quantum, until their plan, one of their sites or the line is full (water filling, Bertsekas & Gallager 1992, section 6.5.2).

use shortflow_units::Rate;

use crate::model::{Direction, Plans};

/// The largest quantum that HTB takes without a warning, in bytes.
const MAX_QUANTUM: u64 = 200_000;

/// A part of a rate that is a rounding error.
const TINY: f64 = 1e-9;

impl Plans {
    /// The longest frame without segmentation, in bytes.
    pub const FRAME: u64 = 1514;

    /// The bytes that a customer with this plan sends in its turn: what the plan sends in a millisecond, and at least a frame.
    pub fn quantum(plan: Rate) -> u64 {
        (plan.bits_per_sec() / 8 / 1000).clamp(Plans::FRAME, MAX_QUANTUM)
    }

    /// What each customer gets in bit/s when those that are busy could send more than they get, and others send nothing. Takes
    /// time in proportion to customers, and to sites times the number of them that are full.
    ///
    /// # Panics
    /// If `is_busy` has another length than the customers.
    pub fn shares(&self, direction: Direction, is_busy: &[bool]) -> Vec<f64> {
        assert_eq!(is_busy.len(), self.customers.len(), "one for each customer");
        let mut filling = Filling::new(self, direction, is_busy);
        let floors = self.sums(|customer| self.floor(customer, direction));
        let mut behind = vec![Vec::new(); self.sites.len()];
        for (at, customer) in self.customers.iter().enumerate() {
            self.path(customer.site).for_each(|site| behind[site].push(at));
        }
        let mut innermost_first: Vec<usize> = (0..self.sites.len()).collect();
        innermost_first.sort_by_key(|site| std::cmp::Reverse(self.path(Some(*site)).count()));
        for site in innermost_first {
            filling.fill(&behind[site], floors[site] as f64);
        }
        let all: Vec<usize> = (0..self.customers.len()).collect();
        filling.fill(&all, self.line.of(direction).bits_per_sec() as f64);
        filling.got
    }
}

/// Customers that get more and more.
struct Filling<'p> {
    plans: &'p Plans,
    /// What each customer gets, and what it could get; nothing while it is idle.
    got: Vec<f64>,
    most: Vec<f64>,
    weights: Vec<f64>,
    /// What each site passes on, and could.
    used: Vec<f64>,
    capacity: Vec<f64>,
}

impl<'p> Filling<'p> {
    fn new(plans: &'p Plans, direction: Direction, is_busy: &[bool]) -> Filling<'p> {
        let bits = |rate: Rate| rate.bits_per_sec() as f64;
        let busy = || plans.customers.iter().zip(is_busy);
        let each = |of: &dyn Fn(&crate::Customer) -> f64| -> Vec<f64> {
            busy().map(|(one, is_busy)| if *is_busy { of(one) } else { 0.0 }).collect()
        };
        let most = each(&|one| bits(one.plan.of(direction)));
        let got: Vec<f64> = each(&|one| bits(plans.floor(one, direction)));
        let got: Vec<f64> = got.iter().zip(&most).map(|(floor, most)| floor.min(*most)).collect();
        let mut used = vec![0.0; plans.sites.len()];
        for (customer, got) in plans.customers.iter().zip(&got) {
            plans.path(customer.site).for_each(|site| used[site] += got);
        }
        Filling {
            plans,
            got,
            most,
            weights: each(&|one| Plans::quantum(one.plan.of(direction)) as f64),
            used,
            capacity: plans.sites.iter().map(|site| bits(site.rates.of(direction))).collect(),
        }
    }

    /// Gives these customers more until all of them get `budget` together or no one can get more.
    fn fill(&mut self, customers: &[usize], budget: f64) {
        let plans = self.plans;
        let can_more = |at: &usize| self.weights[*at] > 0.0 && self.room(*at) > 0.0;
        let mut active: Vec<usize> = customers.iter().copied().filter(can_more).collect();
        let mut left = budget - customers.iter().map(|at| self.got[*at]).sum::<f64>();
        while left > budget * TINY && !active.is_empty() {
            let mut weights = vec![0.0; plans.sites.len()];
            for at in &active {
                let sites = plans.path(plans.customers[*at].site);
                sites.for_each(|site| weights[site] += self.weights[*at]);
            }
            let all: f64 = active.iter().map(|at| self.weights[*at]).sum();
            let own = active.iter().map(|at| (self.most[*at] - self.got[*at]) / self.weights[*at]);
            let of_sites = (0..plans.sites.len()).filter(|site| weights[*site] > 0.0);
            let of_sites =
                of_sites.map(|site| (self.capacity[site] - self.used[site]) / weights[site]);
            let step = own.chain(of_sites).fold(left / all, f64::min).max(0.0);
            for at in &active {
                let more = step * self.weights[*at];
                self.got[*at] += more;
                left -= more;
                let sites = plans.path(plans.customers[*at].site);
                sites.for_each(|site| self.used[site] += more);
            }
            active.retain(|at| self.room(*at) > 0.0);
        }
    }

    /// What a customer could get more, with nothing for a rounding error.
    fn room(&self, at: usize) -> f64 {
        let of = |most: f64, got: f64| if most - got > most * TINY { most - got } else { 0.0 };
        let sites = self.plans.path(self.plans.customers[at].site);
        let of_sites = sites.map(|site| of(self.capacity[site], self.used[site]));
        of_sites.fold(of(self.most[at], self.got[at]), f64::min)
    }
}
