"""Verdicts on pairs, and how the chapter is put together."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import chapter
import kernel
import paired
import running
from casebook import CONTROLS, HERE, ROOT, BadCase, case_of, read_cases
from notes import Note, read_notes
from paired import Order, Ratio, Row
from running import Job

CASE = case_of({"name": "Line", "scenario": "s.toml", "policies": ["a.toml", "b.toml"],
                "port": "r1->r2", "order": "time web"})  # fmt: skip


def row(kind: str, ratio: Ratio | None, simulated: float = 1.0, rehearsed: float = 1.0) -> Row:
    return Row("a", "web", kind, simulated, rehearsed, ratio)


class Ratios(unittest.TestCase):
    def test_the_ratio_of_pairs_is_geometric_and_its_interval_that_of_logarithms(self):
        found = paired.geometric([(1.0, 2.0), (1.0, 4.0), (1.0, 8.0)])
        self.assertAlmostEqual(found.mean, 4.0)
        self.assertAlmostEqual(found.low * found.high, 16.0)
        self.assertLess(found.low, 2.0)

    def test_a_figure_that_is_zero_somewhere_has_no_geometric_ratio(self):
        self.assertIsNone(paired.geometric([(1.0, 0.0), (1.0, 1.0), (1.0, 1.0)]))

    def test_losses_that_are_zero_somewhere_have_the_ratio_of_their_means(self):
        found = paired.of_sums([(0.0, 0.02), (0.02, 0.02), (0.04, 0.02)])
        self.assertAlmostEqual(found.mean, 1.0)
        self.assertLess(found.low, 1.0)
        self.assertIsNone(paired.of_sums([(0.0, 0.02), (0.0, 0.02), (0.04, 0.02)]))

    def test_pairs_are_of_replicas_with_the_same_number(self):
        simulated = [{"number": 0, "x": 1.0}, {"number": 1, "x": None}, {"number": 2, "x": 3.0}]
        rehearsed = [{"number": 2, "x": 30.0}, {"number": 0, "x": 10.0}, {"number": 1, "x": 20.0}]
        found = paired.pairs(simulated, rehearsed, lambda replica: replica["x"])
        self.assertEqual(found, [(1.0, 10.0), (3.0, 30.0)])


class Verdicts(unittest.TestCase):
    def test_a_row_holds_by_its_ratio_and_is_settled_by_its_interval(self):
        cases = [
            (Ratio(1.1, 1.05, 1.15), True, True),
            (Ratio(1.1, 0.95, 1.25), True, False),
            (Ratio(1.3, 1.1, 1.5), False, False),
            (Ratio(1.3, 1.25, 1.35), False, True),
            (Ratio(0.7, 0.65, 0.75), False, True),
        ]
        for ratio, holds, settled in cases:
            found = row("median", ratio)
            self.assertEqual((found.holds, found.settled), (holds, settled), ratio)

    def test_a_row_that_misses_by_chance_is_judged_by_its_further_pairs(self):
        doubtful, sure = row("median", Ratio(1.3, 1.1, 1.5)), row("median", Ratio(1.3, 1.25, 1.35))
        self.assertTrue(doubtful.asks_for_more)
        self.assertFalse(sure.asks_for_more)
        self.assertFalse(row("median", Ratio(1.1, 0.9, 1.3)).asks_for_more)
        further = row("median", Ratio(1.1, 1.05, 1.15))
        self.assertTrue(replace(doubtful, further=further).judged.holds)
        self.assertFalse(sure.judged.holds)

    def test_losses_that_nobody_notices_are_alike(self):
        self.assertTrue(row("loss", None, 0.0, 0.0009).holds)
        self.assertFalse(row("loss", None, 0.0, 0.0011).holds)

    def test_engines_agree_on_an_order_when_both_have_the_same_policy_first(self):
        below, above, unsure = Ratio(0.5, 0.4, 0.6), Ratio(2.0, 1.5, 2.5), Ratio(0.9, 0.7, 1.1)
        self.assertTrue(Order(below, below).alike and Order(below, below).settled)
        self.assertFalse(Order(below, above).alike)
        self.assertTrue(Order(below, unsure).alike and not Order(below, unsure).settled)


class Cases(unittest.TestCase):
    def test_the_committed_cases_name_files_that_are_there(self):
        cases = read_cases(HERE / "cases.toml")
        self.assertGreaterEqual(len(cases), 12)
        for case in cases:
            for name in (case.scenario, *case.policies):
                self.assertTrue((ROOT / name).is_file(), name)

    def test_a_case_that_lacks_something_or_says_too_much_is_refused(self):
        whole = {"name": "n", "scenario": "s", "policies": ["a", "b"], "port": "p", "order": "wait"}
        bad = [
            ({"port": None}, "lacks port"),
            ({"policies": ["a"]}, "has 1 policies"),
            ({"order": "loss"}, "write `time WORKLOAD`, `delay WORKLOAD` or `wait`"),
            ({"seeds": 3}, "unknown keys: seeds"),
        ]
        for change, told in bad:
            entry = {key: v for key, v in (whole | change).items() if v is not None}
            with self.assertRaisesRegex(BadCase, told):
                case_of(entry)

    def test_every_note_fits_a_committed_case(self):
        names = {case.name for case in read_cases(HERE / "cases.toml")}
        for note in read_notes(HERE / "notes.toml"):
            self.assertLessEqual(set(note.cases), names, note.cause)
            self.assertLessEqual(set(note.controls), set(CONTROLS), note.cause)


class Runs(unittest.TestCase):
    def folder(self, p99: float, stalled: float = 0.0, longest_stall: float = 0.0) -> Path:
        home = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: __import__("shutil").rmtree(home))
        timing = f"[timing]\np99 = {p99}\nstalled = {stalled}\nlongest_stall = {longest_stall}\n"
        for name, timing in (("1-a-simulated", ""), ("2-a-rehearsed", timing)):
            (home / name).mkdir()
            (home / name / "manifest.toml").write_text(timing)
        return home

    def test_the_latest_replica_decides_whether_a_rehearsal_is_believed(self):
        self.assertEqual(running.lateness(self.folder(0.0007)), 0.0007)
        self.assertEqual(running.lateness(self.folder(0.0013)), 0.0013)

    def test_a_rehearsal_that_was_late_or_stood_still_is_not_believed(self):
        for timing, why in [
            ((0.0007, 0.009, 0.09), None),
            ((0.0013, 0.0, 0.0), "packets were late by 1.30 ms (p99)"),
            ((0.0007, 0.011, 0.05), "the machine stood still for 1.1 % of the time, at most 50 ms at once"),
            ((0.0007, 0.002, 1.2), "the machine stood still for 0.2 % of the time, at most 1200 ms at once"),
        ]:
            self.assertEqual(running.why_not_believed(self.folder(*timing)), why)

    def test_a_command_runs_one_engine_with_replicas_that_have_the_same_arrivals(self):
        words = running.command(Job(CASE, "reno"), "rehearse", Path("shortflow"), Path("out"))
        self.assertEqual(words[words.index("--engines") + 1], "rehearse")
        self.assertNotIn("--seed", words)
        self.assertEqual(words[words.index("--replicas") + 1], "8")
        self.assertEqual(words[-2:], ["--set", "tcp.congestion=reno"])
        self.assertIn(f"tcp.timer_tick={kernel.timer_tick()}", words)

    def test_further_pairs_are_of_one_policy_with_another_seed(self):
        words = running.command(Job(CASE, "reno", "policies/a.toml"), "rehearse", Path("shortflow"), Path("out"))
        self.assertEqual(words[2:4], ["rehearse", "s.toml"])
        for flag, value in [("--policy", "policies/a.toml"), ("--replicas", "32"), ("--seed", "1001")]:
            self.assertEqual(words[words.index(flag) + 1], value)

    def test_a_run_and_a_comparison_are_read_alike(self):
        home = Path(tempfile.mkdtemp())
        self.addCleanup(lambda: __import__("shutil").rmtree(home))
        (home / "manifest.toml").write_text('engine = "rehearse"\n[timing]\np99 = 0.0007\n')
        (home / "replicas.json").write_text('[[{"number": 0}]]')
        self.assertEqual(running.replicas(home), {(0, "rehearse"): [{"number": 0}]})
        self.assertEqual(running.lateness(home), 0.0007)

    def test_cases_with_the_same_line_share_further_pairs(self):
        def folder(case: object, control: str = "reno") -> str:
            return Job(case, control, "policies/a.toml").folder_name

        self.assertEqual(folder(CASE), folder(replace(CASE, name="Another", port="r2->r1")))
        self.assertNotEqual(folder(CASE), folder(CASE, "cubic"))
        self.assertNotEqual(folder(CASE), folder(replace(CASE, settings=("duration=9 s",))))

    def test_only_a_rehearsal_is_kept_for_another_binary_and_only_where_that_is_asked_for(self):
        home = self.folder(0.0007)
        out = home / "rehearse"
        out.mkdir()
        (home / "2-a-rehearsed").rename(out / "2-a-rehearsed")
        job = Job(replace(CASE, scenario="bench/agreement/cases.toml", policies=()), "reno")
        (out / "key").write_text(f"{running.key_of(job, 'rehearse', b'')} of-another-binary")
        kept = [running.is_kept(job, "rehearse", Path(__file__), home, any_binary) for any_binary in (True, False)]
        self.assertEqual(kept, [True, False])


class Chapter(unittest.TestCase):
    def test_a_row_that_misses_is_listed_with_its_cause(self):
        order = Order(Ratio(0.5, 0.4, 0.6), Ratio(0.5, 0.4, 0.6))
        rows = [row("median", Ratio(1.0, 0.9, 1.1)), row("loss", Ratio(0.5, 0.4, 0.6))]
        found = chapter.Found(Job(CASE, "cubic"), order, rows, 0.0001)
        note = Note("It starts more slowly.", tested=True, kinds=("loss",), controls=("cubic",))
        page = chapter.chapter([found], [], [note], {"Linux": "6.1"})
        text = page.text
        self.assertIn("| loss              | 25 %     |    1 |    0 |", text)
        self.assertIn("(a) It starts more slowly. Tested.", text)
        self.assertEqual(text.count("(a)"), 2)
        self.assertEqual([line.missed for line in page.lines], [1, 0])
        self.assertEqual(page.rows[1], ["Line", "cubic", "a", "web", "loss", "100.00 %", "100.00 %", "0.50 (0.40 to 0.60)",
                                        "misses"])  # fmt: skip
        again = replace(rows[1], further=row("loss", Ratio(1.0, 0.9, 1.1)))
        held = chapter.chapter([replace(found, rows=[again])], [], [note], {}).text
        self.assertIn("| 0.50 (0.40 to 0.60) | 1.00 (0.90 to 1.10) | holds   |", held)
        self.assertNotIn("(a)", held)
        other = chapter.chapter([found], [Job(CASE, "reno")], [], {}).text
        self.assertIn("not traced", other)
        self.assertIn("Omitted, because they were late: Line, reno.", other)


if __name__ == "__main__":
    unittest.main()
