"""Tests of the computations on measurements; they measure nothing but a shell's lifetime."""

import unittest
import xml.etree.ElementTree as ElementTree

import figure
import page
import peers
import process
import scenarios
import tables
from growth import Cost, Growth, Replicas, ShortFlows
from works import WORKS


def growth_of(last: float) -> Growth:
    """Growth in which the largest number of flows costs `last` times the smallest."""

    def cost(size: int, ns_per_hop: float) -> Cost:
        return Cost(size, ns_per_hop, 1.0, 1_000_000, 20_000_000)

    flows = [cost(100, 50.0), cost(100_000, 50.0 * last)]
    nodes = [cost(10, 60.0), cost(10_002, 70.0)]
    return Growth(flows, nodes, 900.0, ShortFlows(flows[0], 999_999), Replicas(0.95, 0.85))


class Peers(unittest.TestCase):
    def result(self, cpu_s: float) -> peers.Result:
        """Work A: ours takes `cpu_s` seconds in each of three rounds, ns-2 takes 1, 1.1 and 1.5."""
        theirs = [1.0, 1.1, 1.5]
        samples = {
            ("A", "ours"): [peers.Sample(cpu_s, 6_000_000, 700_000, 4_200_000)] * 3,
            ("A", "ns2"): [peers.Sample(each, 20_000_000, 710_000, 4_260_000) for each in theirs],
        }
        return peers.result(WORKS[0], samples, {("A", "ns2"): [each / cpu_s for each in theirs]})

    def test_a_ratio_is_the_median_of_the_rounds_with_the_least_and_the_most(self) -> None:
        ratio = self.result(0.2).ratios["ns2"]
        self.assertAlmostEqual(ratio.median, 5.5)
        self.assertAlmostEqual(ratio.least, 5.0)
        self.assertAlmostEqual(ratio.most, 7.5)

    def test_a_ratio_below_the_target_is_said_not_to_meet_it(self) -> None:
        self.assertIn("5.5 (5.0–7.5) |      3 |    ≥ 5 | yes", tables.ratios([self.result(0.2)]))
        self.assertIn("≥ 5 | **no**", tables.ratios([self.result(0.25)]))

    def test_memory_above_that_of_ns2_is_said_not_to_meet_the_target(self) -> None:
        self.assertRegex(tables.limits([self.result(0.2)]), r"6\.0 \| +≤ 20\.0 \| ns-2's +\| yes")

    def test_a_slow_peer_runs_in_the_first_rounds_only(self) -> None:
        b = WORKS[1]
        self.assertEqual([peers.peers_of(b, turn) for turn in range(2)], [["ns2", "ns3"], ["ns2"]])


class GrowthTables(unittest.TestCase):
    def test_growth_is_judged_by_the_last_against_the_first(self) -> None:
        for last, verdict in ((2.0, r"2\.00 \| +≤ 2 \| yes"), (2.1, r"2\.10 \| +≤ 2 \| \*\*no")):
            limits = tables.growth_limits(growth_of(last))
            self.assertRegex(limits, r"100,000 flows against 100 +\| +" + verdict)

    def test_the_figure_is_well_formed_and_keeps_all_points_inside(self) -> None:
        root = ElementTree.fromstring(figure.figure(growth_of(4.6)))
        circles = root.findall("{http://www.w3.org/2000/svg}circle")
        self.assertEqual(len(circles), 4)
        for circle in circles:
            x, y = float(circle.attrib["cx"]), float(circle.attrib["cy"])
            self.assertTrue(0 < x < figure.WIDTH)
            self.assertTrue(figure.TOP <= y <= figure.TOP + figure.PANEL_HEIGHT)

    def test_a_tree_has_the_nodes_that_it_is_called_after(self) -> None:
        # Two routers in the middle, two edge routers, six hosts.
        self.assertEqual(scenarios.node_count(edges=1, hosts_per_edge=3), 10)


class Page(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self) -> None:
        before = "prose\n<!-- begin: a -->\n\nold\n\n<!-- end: a -->\nmore\n"
        after = page.filled(before, {"a": "new\n"})
        self.assertEqual(after, before.replace("old", "new"))
        self.assertEqual(page.filled(after, {"a": "new\n"}), after)

    def test_a_page_without_a_place_is_refused(self) -> None:
        with self.assertRaises(page.NoMarker):
            page.filled("<!-- begin: a -->\n", {"a": "new"})


class Process(unittest.TestCase):
    def test_memory_is_that_of_the_program_and_not_of_the_one_that_starts_it(self) -> None:
        held = bytearray(64_000_000)
        held[::4096] = b"x" * len(held[::4096])
        usage = process.measure(["sh", "-c", "echo done"])
        self.assertEqual(usage.output, "done\n")
        self.assertLess(usage.peak_bytes, 10_000_000)

    def test_a_program_that_fails_is_named_with_what_it_said(self) -> None:
        with self.assertRaisesRegex(process.Failed, "sh ended with 3: too bad"):
            process.measure(["sh", "-c", "echo too bad >&2; exit 3"])

    def test_a_program_that_uses_up_its_seconds_is_stopped_and_one_that_is_killed_has_failed(self) -> None:
        self.assertTrue(process.measure(["sh", "-c", "while :; do :; done"], stop_s=2).stopped)
        with self.assertRaises(process.Failed):
            process.measure(["sh", "-c", "kill -9 $$"], stop_s=60)


if __name__ == "__main__":
    unittest.main()
