"""How live figures are judged beside the simulations of the same pages."""

import unittest

from stock_page import FIGURES, Compared, Measured, agreement, cells, judged

CALL = next(figure for figure in FIGURES if figure.name == "call, mean delay")


def measured(call: float) -> Measured:
    """A run whose call has this mean delay, in seconds."""
    sizes = (2000, 8000, 30_000, 100_000)
    return Measured([(size, 0.1) for size in sizes], call, 0.0, 20.0)


def compared(live: float) -> Compared:
    """Simulations of 50 ms, and of 45 to 90 ms on lines that are slightly different, beside a live run."""
    return Compared([measured(one) for one in (0.050, 0.045, 0.090)], {"deployed": measured(live), "inline": "no such kernel"})


class Judging(unittest.TestCase):
    def test_a_figure_agrees_within_its_tolerance_of_the_simulation(self) -> None:
        for live in (0.041, 0.050, 0.059):
            self.assertEqual(judged(CALL, compared(live), "deployed"), "agrees")

    def test_a_figure_beyond_it_differs_by_chance_where_the_same_pages_give_it_too(self) -> None:
        self.assertEqual(judged(CALL, compared(0.089), "deployed"), "by chance")
        self.assertEqual(cells(CALL, compared(0.089)), ["50.0 ms", "45.0 ms to 90.0 ms", "89.0 ms \\*", "–"])

    def test_a_figure_that_no_simulation_gives_differs(self) -> None:
        for live in (0.039, 0.091):
            self.assertEqual(judged(CALL, compared(live), "deployed"), "differs")
        self.assertIn("**91.0 ms**", cells(CALL, compared(0.091)))

    def test_the_page_counts_each_kind_and_leaves_out_what_did_not_run(self) -> None:
        found = {"a": compared(0.05), "b": compared(0.089), "c": compared(0.2)}
        rows = 3 * len(FIGURES)
        self.assertEqual(
            agreement(found).splitlines(),
            [f"- deployed: {rows - 2} of {rows} figures agree, 1 differ by chance, 1 differ.", "- inline: 0 of 0 figures agree, 0 differ by chance, 0 differ."],
        )


if __name__ == "__main__":
    unittest.main()
