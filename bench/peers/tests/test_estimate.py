"""Intervals and verdicts."""

import math
import unittest

from estimate import Estimate, agree, difference, overlap, student


class Intervals(unittest.TestCase):
    def test_a_count_of_none_in_eight_seeds_allows_a_mean_that_shows_none_in_one_run_of_forty(self) -> None:
        none = Estimate.over([0.0] * 8, counts=True)
        self.assertEqual(none.mean, 0.0)
        self.assertAlmostEqual(math.exp(-8 * none.half_width), 0.025)
        self.assertEqual(Estimate.over([0.0] * 8).half_width, 0.0)
        self.assertEqual(Estimate.over([0.0, 1.0], counts=True), Estimate.over([0.0, 1.0]))

    def test_an_interval_is_that_of_student(self) -> None:
        # Values 1, 2, 3: deviation 1, so 4.303 / sqrt(3), from a table of the t distribution.
        estimate = Estimate.over([1.0, 2.0, 3.0])
        self.assertEqual(estimate.mean, 2.0)
        self.assertAlmostEqual(estimate.half_width, 2.484, places=3)

    def test_a_single_value_has_no_interval(self) -> None:
        self.assertEqual(Estimate.over([5.0]), Estimate(5.0, None))

    def test_between_two_entries_of_the_table_the_wider_interval_is_taken(self) -> None:
        self.assertEqual(student(11), 2.228)


class Verdicts(unittest.TestCase):
    def test_means_within_a_tenth_agree_though_their_intervals_are_apart(self) -> None:
        theirs, ours = Estimate(100.0, 1.0), Estimate(109.0, 1.0)
        self.assertFalse(overlap(theirs, ours))
        self.assertTrue(agree(theirs, ours))

    def test_means_further_apart_agree_only_when_their_intervals_meet(self) -> None:
        theirs = Estimate(100.0, 10.0)
        self.assertTrue(agree(theirs, Estimate(120.0, 10.0)))
        self.assertFalse(agree(theirs, Estimate(120.0, 9.9)))

    def test_nothing_is_a_share_of_zero_but_zero(self) -> None:
        zero = Estimate(0.0, None)
        self.assertEqual(difference(zero, zero), 0.0)
        self.assertIsNone(difference(zero, Estimate(1.0, None)))
        self.assertFalse(agree(zero, Estimate(1.0, None)))


if __name__ == "__main__":
    unittest.main()
