//! The bufferbloat grade of a line, on the scale of public speed tests.

use std::fmt;

/// What load adds to the mean round-trip time, as a letter. The scale is that of DSLReports, which other public tests
/// took over; it has no E.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Less than 5 ms.
    APlus,
    /// Less than 30 ms.
    A,
    /// Less than 60 ms.
    B,
    /// Less than 200 ms.
    C,
    /// Less than 400 ms.
    D,
    /// 400 ms and more.
    F,
}

impl Grade {
    /// Of the seconds that load adds.
    ///
    /// ```
    /// use shortflow_measure::Grade;
    /// assert_eq!(Grade::from_added(0.012).to_string(), "A");
    /// ```
    pub fn from_added(seconds: f64) -> Grade {
        const LIMITS: [(f64, Grade); 5] = [
            (0.005, Grade::APlus),
            (0.03, Grade::A),
            (0.06, Grade::B),
            (0.2, Grade::C),
            (0.4, Grade::D),
        ];
        let found = LIMITS.into_iter().find(|(limit, _)| seconds < *limit);
        found.map_or(Grade::F, |(_, grade)| grade)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Grade::APlus => "A+",
            Grade::A => "A",
            Grade::B => "B",
            Grade::C => "C",
            Grade::D => "D",
            Grade::F => "F",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grade_begins_at_the_limit_of_the_one_above() {
        let of = |ms: f64| Grade::from_added(ms / 1e3).to_string();
        let found = [-1.0, 0.0, 4.9, 5.0, 30.0, 60.0, 199.0, 200.0, 399.0, 400.0, 1e6].map(of);
        assert_eq!(found, ["A+", "A+", "A+", "A", "B", "C", "C", "D", "D", "F", "F"]);
    }
}
