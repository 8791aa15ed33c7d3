"""Scenarios of every kind, and how their predictions are judged."""

import tomllib
import unittest

import mixed
from draws import Drawn
from judging import Judged, answers, chapter, misses, part


def estimate(mean, low=None, high=None, **more):
    return {"mean": mean, "low": low, "high": high, "n": 3, **more}


def summary(mean, warnings=(), delay=None, **more):
    every = {"label": "all", "n": 100, "mean": mean}
    workload = {"name": "w0", "all": every, "classes": [], "goodput": None, "datagrams": None}
    stream = workload | {"name": "w1", "all": every | {"n": 0, "mean": None}, "datagrams": {"delay": delay, "loss": None}}
    return {"workloads": [workload, stream], "ports": [], "warnings": [{"message": line} for line in warnings], **more}


class Draws(unittest.TestCase):
    def test_a_seed_and_a_number_give_one_scenario(self):
        self.assertEqual(mixed.draw(5, 3), mixed.draw(5, 3))
        self.assertNotEqual(mixed.draw(5, 3).scenario, mixed.draw(6, 3).scenario)

    def test_every_kind_and_every_policy_is_drawn(self):
        drawn = [mixed.draw(mixed.SEED, at) for at in range(mixed.COUNT)]
        kinds = {kind for each in drawn for one in tomllib.loads(each.scenario)["workloads"].values() for kind in one}
        self.assertEqual(kinds, set(mixed.WORKLOADS))
        policies = {each.words.rpartition("; ")[2].partition(" ")[0] for each in drawn}
        self.assertEqual(policies, {path.stem for path in (mixed.ROOT / "policies").glob("*.toml")})
        self.assertEqual({len(tomllib.loads(each.scenario)["measure"]["ports"]) for each in drawn}, {1, 2, 3})


class Judging(unittest.TestCase):
    def of(self, predicted, simulated):
        return {answer.of: answer for answer in answers(predicted, simulated)}

    def test_a_mean_that_is_far_off_is_silent_unless_a_warning_names_it(self):
        simulated = summary(estimate(1.0, 0.9, 1.1))
        self.assertTrue(self.of(summary(estimate(1.6)), simulated)["w0"].is_silent)
        self.assertTrue(self.of(summary(estimate(0.6)), simulated)["w0"].is_silent)
        self.assertFalse(self.of(summary(estimate(1.4)), simulated)["w0"].is_silent)
        self.assertTrue(self.of(summary(estimate(1.6), ["Of `w1` much is unknown."]), simulated)["w0"].is_silent)
        self.assertFalse(self.of(summary(estimate(1.6), ["Of `w0` much is unknown."]), simulated)["w0"].is_silent)

    def test_a_bound_is_false_above_the_mean_alone(self):
        simulated = summary(None, delay=estimate(1.0))
        for bound, is_false in [(0.2, False), (1.01, False), (1.1, True)]:
            found = self.of(summary(None, delay=estimate(bound, at_least=True)), simulated)["w1: delay"]
            self.assertEqual((found.is_bound, found.is_mean, found.is_false_bound), (True, False, is_false))

    def test_an_upper_bound_is_false_below_the_mean_alone(self):
        simulated = summary(None, delay=estimate(1.0))
        for bound, is_false in [(5.0, False), (0.99, False), (0.9, True)]:
            found = self.of(summary(None, delay=estimate(bound, at_most=True)), simulated)["w1: delay"]
            self.assertEqual((found.is_bound, found.is_mean, found.is_false_bound), (True, False, is_false))

    def test_a_lower_bound_cannot_be_false_where_the_simulation_found_but_one(self):
        simulated = summary(None, delay=estimate(1.0, at_least=True))
        found = self.of(summary(None, delay=estimate(2.0, at_least=True)), simulated)["w1: delay"]
        self.assertFalse(found.is_false_bound)

    def test_what_is_not_predicted_counts_as_not_answered(self):
        nothing = {"workloads": [], "ports": [], "warnings": [{"message": "no closed form for `w0`: a reason"}]}
        self.assertIsNone(self.of(nothing, summary(estimate(1.0)))["w0"].predicted)

    def test_what_misses_is_named(self):
        drawn = Drawn("mixed-1-1", "one line; best-effort", "")
        found = answers(summary(estimate(3.0)), summary(estimate(1.0, 0.9, 1.1)))
        judged = [Judged(drawn, found), Judged(drawn, dropped="too slow")]
        one = part(judged, 1, "1.0")
        page = "\n".join([one.text, *misses(judged)])
        self.assertEqual([(line.rows, line.missed) for line in chapter("Note.", [one]).lines], [(1, 1)])
        self.assertIn("+200.0 %", page)
        self.assertIn("silent", page)
        self.assertIn("too slow", page)


if __name__ == "__main__":
    unittest.main()
