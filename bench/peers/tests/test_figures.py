"""Figures by name."""

import unittest

from figures import matches, of_peer


class Names(unittest.TestCase):
    def test_numbers_of_a_peer_are_found_by_their_path(self) -> None:
        figures = of_peer({"simulator": "x", "parameters": {"rate": 1}, "a": {"b": 2, "c": [3]}})
        self.assertEqual(figures, {"a.b": 2})

    def test_loss_is_the_share_of_packets_that_were_dropped(self) -> None:
        figures = of_peer({"queue": {"forwarded": 75, "dropped": 25}})
        self.assertEqual(figures["queue.loss"], 0.25)

    def test_a_star_stands_for_one_part_of_a_path(self) -> None:
        figures = {"time.7.mean": 1.0, "time.7.p95": 2.0, "time.20.mean": 3.0, "time.a.b.mean": 4.0}
        self.assertEqual(
            matches("time.*.mean", figures), {"7": "time.7.mean", "20": "time.20.mean"})


if __name__ == "__main__":
    unittest.main()
