"""Random scenarios, and the verdicts on them."""

import unittest

from chapter import TARGETS, binomial_band, chapter, coverage, signed
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
        page = chapter(found, {"pftk": "Why."}, "1.2.3")
        text = page.text
        self.assertEqual([(line.rows, line.held, line.missed) for line in page.lines], [(1, 0, 1)])
        self.assertEqual(page.rows[0][1:3], ["a lossy line", "long: goodput"])
        self.assertIn("a lossy line", text)
        self.assertIn("+100.0 %", text)
        self.assertIn("Why.", text)

    def test_of_exact_models_it_is_counted_how_many_intervals_hold_them(self):
        # Binomial tables: of 20 with 0.95 each, fewer than 17 are 1.6 %, than 18 7.5 %; all 20 are 36 %.
        self.assertEqual(binomial_band(20, 0.95), (17, 20))
        self.assertEqual(binomial_band(1, 0.95), (0, 1))
        found = {family.name: [] for family in FAMILIES}
        inside = Figure("a: delay", 1.0, 1.0, 0.9, 1.1)
        outside = Figure("b: delay", 1.2, 1.0, 0.9, 1.1)
        drawn = Drawn("priority-1", "bands", "")
        found["priority"] = [Found(drawn, [inside, outside, Figure("a: goodput", 9.0, 1.0, 0.9, 1.1)], [])] * 20
        lines = [line for line in coverage(found) if line.startswith("| Poisson")]
        self.assertEqual([[cell.strip() for cell in line.split("|")[2:7]] for line in lines],
                         [["a: delay", "20", "20", "17 to 20", "yes"], ["b: delay", "20", "0", "17 to 20", "no"]])  # fmt: skip

    def test_every_family_has_a_target(self):
        self.assertEqual({family.name for family in FAMILIES}, set(TARGETS))

    def test_signs_are_those_of_print(self):
        self.assertEqual([signed(-0.1), signed(0.0), signed(0.25)], ["−10.0 %", "0.0 %", "+25.0 %"])


if __name__ == "__main__":
    unittest.main()
