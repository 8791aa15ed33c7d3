//! The rank test of Mann & Whitney 1947, which tests whether the values of one group tend to be larger than those of
//! another.

/// How likely the ranks of `after` among both groups sum to so much or more, if each choice of that many of all values is
/// as likely: one-sided and exact, whatever the values are distributed like. Equal values share the mean of their ranks
/// (Lehmann 1975, §1.4).
///
/// Takes O(n² · n · m) for n values of which m are `after`: some millions of additions for 24 and 24.
pub(super) fn chance_of_so_much(before: &[f64], after: &[f64]) -> f64 {
    let mut all: Vec<(f64, bool)> = Vec::new();
    all.extend(before.iter().map(|value| (*value, false)));
    all.extend(after.iter().map(|value| (*value, true)));
    all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let ranks = doubled_ranks(&all);
    let seen: usize =
        all.iter().zip(&ranks).filter(|((_, is_after), _)| *is_after).map(|(_, rank)| rank).sum();
    // ways[k][s]: how many choices of k of the values so far have doubled ranks that sum to s.
    let mut sums = vec![0];
    sums.extend(ranks.iter().scan(0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let mut ways = vec![vec![0.0_f64; sums[ranks.len()] + 1]; after.len() + 1];
    ways[0][0] = 1.0;
    for (number, rank) in ranks.iter().enumerate() {
        for taken in (0..after.len().min(number + 1)).rev() {
            // Ranks rise: so many of them sum to no less than the first ones, and to no more than the last ones.
            let (least, most) = (sums[taken], sums[number] - sums[number - taken]);
            let (fewer, more) = ways.split_at_mut(taken + 1);
            let from = &fewer[taken][least..=most];
            let to = &mut more[0][least + rank..=most + rank];
            to.iter_mut().zip(from).for_each(|(more, count)| *more += count);
        }
    }
    let chosen = &ways[after.len()];
    chosen[seen..].iter().sum::<f64>() / chosen.iter().sum::<f64>()
}

/// Twice the rank of each of the sorted values, which is whole where equal ones share a mean.
fn doubled_ranks(sorted: &[(f64, bool)]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for group in sorted.chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq()) {
        let first = ranks.len() + 1;
        let last = ranks.len() + group.len();
        ranks.extend(std::iter::repeat_n(first + last, group.len()));
    }
    ranks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_groups_have_the_chances_that_one_counts_by_hand() {
        // Of the 20 ways to choose three of six ranks one sums to 15, one to 14, and two to 13.
        let of = |before: [f64; 3], after: [f64; 3]| chance_of_so_much(&before, &after) * 20.0;
        assert_eq!(of([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).round(), 1.0);
        assert_eq!(of([1.0, 2.0, 4.0], [3.0, 5.0, 6.0]).round(), 2.0);
        assert_eq!(of([1.0, 2.0, 5.0], [3.0, 4.0, 6.0]).round(), 4.0);
        assert_eq!(of([4.0, 5.0, 6.0], [1.0, 2.0, 3.0]).round(), 20.0);
        assert_eq!(chance_of_so_much(&[0.0; 24], &[0.0; 24]), 1.0, "all alike say nothing");
        assert_eq!(chance_of_so_much(&[1.0], &[]), 1.0);
    }

    /// By the definition: every choice of as many values, and the share of those whose ranks sum to so much.
    fn oracle(before: &[f64], after: &[f64]) -> f64 {
        let all = [before, after].concat();
        let rank = |of: f64| {
            let below = all.iter().filter(|value| **value < of).count();
            let alike = all.iter().filter(|value| **value == of).count();
            below as f64 + (alike as f64 + 1.0) / 2.0
        };
        let sum = |chosen: u32| -> f64 {
            let is_in = |place: &usize| chosen & (1 << place) != 0;
            (0..all.len()).filter(is_in).map(|place| rank(all[place])).sum()
        };
        let seen: f64 = after.iter().map(|value| rank(*value)).sum();
        let choices = (0..1_u32 << all.len()).filter(|it| it.count_ones() as usize == after.len());
        let sums: Vec<f64> = choices.map(sum).collect();
        sums.iter().filter(|sum| **sum >= seen - 1e-9).count() as f64 / sums.len() as f64
    }

    proptest! {
        #[test]
        fn chances_are_what_their_definition_says(
            before in prop::collection::vec(0_u8..6, 0..7), after in prop::collection::vec(0_u8..6, 0..7),
        ) {
            let values = |of: &[u8]| of.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
            let (before, after) = (values(&before), values(&after));
            let (found, wanted) = (chance_of_so_much(&before, &after), oracle(&before, &after));
            prop_assert!((found - wanted).abs() < 1e-12, "{} {}", found, wanted);
        }
    }
}
