"""What is drawn, and what is said of it."""

import unittest

from chapter import TARGETS, chapter, signed
from draws import FAMILIES, Drawn
from running import Figure, Found, figures


def estimate(mean, low=None, high=None):
    return {"mean": mean, "low": low, "high": high, "n": 4}


class Draws(unittest.TestCase):
    def test_the_same_scenarios_are_drawn_again(self):
        for family in FAMILIES:
            self.assertEqual(family.scenarios(), family.scenarios())

    def test_there_are_two_hundred_and_no_two_alike(self):
        drawn = [each for family in FAMILIES for each in family.scenarios()]
        self.assertGreaterEqual(len(drawn), 200)
        self.assertEqual(len({each.scenario for each in drawn}), len(drawn))
        self.assertEqual(len({each.name for each in drawn}), len(drawn))


class Figures(unittest.TestCase):
    def test_a_prediction_is_inside_an_interval_or_not(self):
        self.assertTrue(Figure("a", 1.0, 1.1, 0.9, 1.3).is_inside)
        self.assertFalse(Figure("a", 0.8, 1.1, 0.9, 1.3).is_inside)
        self.assertFalse(Figure("a", 1.1, 1.1, None, None).is_inside)
        self.assertAlmostEqual(Figure("a", 1.1, 1.0, None, None).off, 0.1)

    def test_bounds_and_what_one_side_lacks_are_no_figures(self):
        def summary(goodput, delay):
            datagrams = {"delay": delay, "loss": None}
            return {"workloads": [{"name": "w", "all": {"label": "all", "mean": None}, "classes": [],
                                   "goodput": goodput, "datagrams": datagrams}], "ports": []}  # fmt: skip

        found = figures(summary(estimate(2.0), estimate(1.0) | {"at_least": True}),
                        summary(estimate(1.0, 0.5, 1.5), estimate(1.0)))  # fmt: skip
        self.assertEqual([figure.of for figure in found], ["w: goodput"])


class Chapter(unittest.TestCase):
    def test_what_misses_is_named_with_its_note(self):
        figure = Figure("long: goodput", 2e6, 1e6, 9e5, 1.1e6)
        found = {family.name: [] for family in FAMILIES}
        found["pftk"] = [Found(Drawn("pftk-1", "a lossy line", ""), [figure], [])]
        text = chapter(found, {"pftk": "Why."}, "1.2.3")
        self.assertIn("a lossy line", text)
        self.assertIn("+100.0 %", text)
        self.assertIn("Why.", text)

    def test_every_family_has_a_target(self):
        self.assertEqual({family.name for family in FAMILIES}, set(TARGETS))

    def test_signs_are_those_of_print(self):
        self.assertEqual([signed(-0.1), signed(0.0), signed(0.25)], ["−10.0 %", "0.0 %", "+25.0 %"])


if __name__ == "__main__":
    unittest.main()
