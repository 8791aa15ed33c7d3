//! The region in which a number must lie, and the test of it.

use super::evidence::{Evidence, Shown};

/// An end of a region.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// Where it is.
    pub at: f64,
    /// Whether it belongs to the region.
    pub is_inside: bool,
}

impl Bound {
    /// An end that belongs to the region.
    pub const fn closed(at: f64) -> Bound {
        Bound { at, is_inside: true }
    }

    /// An end that does not.
    pub const fn open(at: f64) -> Bound {
        Bound { at, is_inside: false }
    }
}

/// Where a number must lie for a check to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Region {
    /// The lower end, if it has one.
    pub from: Option<Bound>,
    /// The upper end, if it has one.
    pub to: Option<Bound>,
}

/// What the replicas say of a check.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// The probability to see as much as this for the check if it does not hold.
    pub p_holds: f64,
    /// The probability to see as much as this against the check if it holds.
    pub p_fails: f64,
}

impl Region {
    /// Up to an end.
    pub const fn to(end: Bound) -> Region {
        Region { from: None, to: Some(end) }
    }

    /// From an end on.
    pub const fn from(end: Bound) -> Region {
        Region { from: Some(end), to: None }
    }

    /// Between two ends that belong to it.
    pub const fn within(from: f64, to: f64) -> Region {
        Region { from: Some(Bound::closed(from)), to: Some(Bound::closed(to)) }
    }

    /// What the evidence says of whether the number lies here.
    pub fn test(&self, evidence: &Evidence) -> Tested {
        let above = |end: Bound| evidence.p_above(end.at, end.is_inside);
        let below = |end: Bound| evidence.p_below(end.at, end.is_inside);
        let inside = [self.from.map(above), self.to.map(below)];
        // Beyond an end is what does not belong.
        let outside = [
            self.from.map(|end| evidence.p_below(end.at, !end.is_inside)),
            self.to.map(|end| evidence.p_above(end.at, !end.is_inside)),
        ];
        let ends = outside.iter().flatten().count() as f64;
        let min = outside.iter().flatten().fold(1.0_f64, |min, p| min.min(*p));
        Tested {
            p_holds: inside.iter().flatten().fold(0.0_f64, |max, p| max.max(*p)),
            p_fails: (min * ends).min(1.0),
        }
    }

    /// With how many replicas a test at level `error` would tell whether the number lies here, if it
    /// is what is `shown` and they spread as these do; `None` where that is more than anybody runs.
    pub fn needs(&self, evidence: &Evidence, shown: &Shown, error: f64) -> Option<u32> {
        let ends = [self.from, self.to].into_iter().flatten();
        let is_beyond = |end: &Bound, side: f64| side * (shown.ours - end.at) > 0.0;
        let beyond_from = self.from.filter(|end| is_beyond(end, -1.0));
        let beyond_to = self.to.filter(|end| is_beyond(end, 1.0));
        match beyond_from.or(beyond_to) {
            Some(end) => evidence.replicas_to_decide(end.at, error),
            // Inside, it must be told from each end.
            None => ends
                .map(|end| evidence.replicas_to_decide(end.at, error))
                .try_fold(0, |max, needs| Some(needs?.max(max))),
        }
    }
}

#[cfg(test)]
mod tests {
    use shortflow_measure::Reading;

    use super::*;

    fn test(region: Region, ratios: &[f64]) -> (bool, bool) {
        let ours: Vec<Reading> = ratios.iter().copied().map(Reading::Exact).collect();
        let tested = region.test(&Evidence::of_ratio_to(&ours, 1.0));
        (tested.p_holds <= 0.025, tested.p_fails <= 0.05)
    }

    #[test]
    fn a_number_is_inside_outside_or_neither() {
        let figure = Region::within(1.0 / 1.5, 1.5);
        assert_eq!(test(figure, &[1.0, 1.1, 0.9, 1.05]), (true, false));
        assert_eq!(test(figure, &[1.9, 2.1, 2.0, 2.2]), (false, true));
        assert_eq!(test(figure, &[0.3, 0.32, 0.29, 0.31]), (false, true));
        assert_eq!(
            test(figure, &[0.2, 4.0, 1.0, 0.7]),
            (false, false),
            "wide intervals never help"
        );
        let below = Region::to(Bound::open(1.0));
        assert_eq!(test(below, &[0.7, 0.8, 0.75]), (true, false));
        assert_eq!(test(below, &[1.7, 1.8, 1.75]), (false, true));
        assert_eq!(test(Region::from(Bound::closed(0.95)), &[0.99, 0.98, 0.99]), (true, false));
    }

    #[test]
    fn equality_belongs_to_a_closed_end_alone() {
        assert_eq!(test(Region::to(Bound::open(1.0)), &[1.0; 4]), (false, true));
        assert_eq!(test(Region::to(Bound::closed(1.0)), &[1.0; 4]), (true, false));
        assert_eq!(test(Region::within(0.9, 1.1), &[1.0; 4]), (true, false));
    }

    #[test]
    fn what_lies_inside_needs_as_many_replicas_as_its_nearer_end() {
        let ours: Vec<Reading> = [0.7, 1.3, 1.2].map(Reading::Exact).to_vec();
        let evidence = Evidence::of_ratio_to(&ours, 1.0);
        let shown = evidence.shown(0.025).unwrap();
        let needs = |region: Region| region.needs(&evidence, &shown, 0.025).unwrap();
        let (wide, narrow) = (needs(Region::within(0.1, 1.5)), needs(Region::within(0.9, 1.5)));
        assert!(wide < narrow, "{wide}, {narrow}");
    }
}
