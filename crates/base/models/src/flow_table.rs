//! The number of flows that a table must hold: Casetti & Mellia 2005, §7, eqs. 5 and 6.
//!
//! The bottleneck is modelled as an M/G/1 queue with processor sharing, and Little's law gives the number of active
//! flows. Since the completion times depend on this number, both are solved together, as a fixed point.

use crate::solve::fixed_point;
use crate::{ModelError, Range};

/// What the fixed point is found to: a millionth of a flow in each.
const TOLERANCE: f64 = 1e-6;

/// E\[CT\] = Σ E\[C_i\]·p_i in seconds (eq. 5), of pairs of a share p_i, from 0, and a completion time
/// E\[C_i\] in seconds, from 0. The shares must come to 1, within a millionth.
pub fn mean_completion(lengths: impl IntoIterator<Item = (f64, f64)>) -> Result<f64, ModelError> {
    let (mut shares, mut mean) = (0.0, 0.0);
    for (share, time) in lengths {
        Range::from_to(0.0, 1.0).check("the share of a flow length", share)?;
        Range::at_least(0.0).check("a completion time in seconds", time)?;
        shares += share;
        mean += share * time;
    }
    Range::from_to(1.0 - TOLERANCE, 1.0 + TOLERANCE)
        .check("the sum of the shares of flow lengths", shares)?;
    Ok(mean)
}

/// E\[N\] = E\[λ\]·E\[CT\] (eq. 6): the mean number of active flows, of flows per second and their mean
/// completion time in seconds, both from 0.
pub fn active_flows(arrival_rate: f64, mean_completion: f64) -> Result<f64, ModelError> {
    Range::at_least(0.0).check("the arrival rate per second", arrival_rate)?;
    Range::at_least(0.0).check("a completion time in seconds", mean_completion)?;
    Ok(arrival_rate * mean_completion)
}

/// SRFT_size: the N with N = λ·E\[CT\](N), where `completion` tells the mean completion time in
/// seconds when so many flows are active. Not rounded to a whole number.
///
/// Where each further flow delays the others by so much that N grows beyond all bounds there is no such
/// number: the error gives the last residual. At most 1000 evaluations of `completion`.
pub fn table_size(
    arrival_rate: f64,
    mut completion: impl FnMut(f64) -> Result<f64, ModelError>,
) -> Result<f64, ModelError> {
    let start = active_flows(arrival_rate, completion(0.0)?)?;
    fixed_point("the number of active flows", start, TOLERANCE, |flows| {
        active_flows(arrival_rate, completion(flows)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_times_are_weighted_by_how_many_flows_have_them() {
        // 0.7·0.2 + 0.2·0.5 + 0.1·3 = 0.54 s; at 50 flows per second 27 are active.
        let mean = mean_completion([(0.7, 0.2), (0.2, 0.5), (0.1, 3.0)]).unwrap();
        assert!((mean - 0.54).abs() < 1e-12);
        assert!((active_flows(50.0, mean).unwrap() - 27.0).abs() < 1e-9);
        let refused = mean_completion([(0.7, 0.2), (0.2, 0.5)]).unwrap_err().to_string();
        assert!(refused.starts_with("the sum of the shares of flow lengths must be"), "{refused}");
    }

    /// Flows of one service s each that share the line: an arrival that finds N takes (N + 1)·s, so
    /// N = λs(N + 1) = ρ/(1 − ρ), the mean of the M/G/1 queue with processor sharing.
    #[test]
    fn flows_that_share_a_line_settle_at_the_number_of_processor_sharing() {
        for (load, flows) in [(0.5, 1.0), (0.8, 4.0), (0.95, 19.0)] {
            let found = table_size(load / 0.01, |active| Ok((active + 1.0) * 0.01)).unwrap();
            assert!((found / flows - 1.0).abs() < 1e-4, "{load}: {found}");
        }
    }

    #[test]
    fn without_arrivals_no_flow_is_active() {
        assert_eq!(table_size(0.0, |_| Ok(1.0)), Ok(0.0));
    }

    #[test]
    fn an_overloaded_line_has_no_number_of_flows() {
        let found = table_size(110.0, |active| Ok((active + 1.0) * 0.01));
        assert!(matches!(found, Err(ModelError::NotSettled { residual, .. }) if residual > 1.0));
    }
}
