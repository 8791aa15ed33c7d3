"""The reader of case files."""

import tomllib
import unittest

from cases import BadCase, chapter
from compare import table

FILE = """
title = "Flows"

[defaults]
seeds = 3
ours.scenario = "flows.toml"
ns2 = { run = "flows.tcl", options = { rate_mbps = 10 } }

[figures]
"loss" = { theirs = "bottleneck.loss", ours = "port.r1->r2.loss" }
"goodput" = { ns2 = "goodput_mbps", ours = "workload.long.goodput_mbps" }

[[case]]
name = "buffers"
ours.set = { "links.bottleneck.queue" = "{buffer} pkt", "tcp.recovery" = "{tcp.ours}" }
ns2.options = { buffer = "{buffer}", tcp = "{tcp.ns2}" }

[case.vary]
buffer = [20, 50]
tcp = [{ name = "SACK", ours = "sack", ns2 = "Sack1" }]
"""


def read(text: str):
    return chapter(tomllib.loads(text))


class Reader(unittest.TestCase):
    def test_a_case_has_one_variant_for_each_combination_of_values(self) -> None:
        (case,) = read(FILE).cases
        self.assertEqual([variant.title for variant in case.variants], ["20, SACK", "50, SACK"])

    def test_a_variable_is_filled_in_and_a_number_stays_a_number(self) -> None:
        first = read(FILE).cases[0].variants[0]
        options = {"rate_mbps": 10, "buffer": 20, "tcp": "Sack1"}
        self.assertEqual(first.peers["ns2"]["options"], options)
        settings = {"links.bottleneck.queue": "20 pkt", "tcp.recovery": "sack"}
        self.assertEqual(first.ours["set"], settings)

    def test_a_name_for_one_peer_stands_before_the_name_for_all(self) -> None:
        loss, goodput = read(FILE).cases[0].figures
        self.assertEqual(set(loss.theirs), {"ns2", "ns3", "theory"})
        self.assertEqual(set(goodput.theirs), {"ns2"})

    def test_a_variable_that_does_not_vary_is_refused(self) -> None:
        with self.assertRaisesRegex(BadCase, r"case `buffers`: `vary` lacks \{queue\}"):
            read(FILE.replace("{buffer} pkt", "{queue} pkt"))

    def test_an_unknown_key_is_refused_with_those_that_are_known(self) -> None:
        with self.assertRaisesRegex(BadCase, r"case `buffers` has unknown keys \['seed'\]"):
            read(FILE.replace('name = "buffers"', 'name = "buffers"\nseed = 3'))

    def test_a_note_about_a_figure_that_is_not_there_is_refused(self) -> None:
        with self.assertRaisesRegex(BadCase, r"figures that are not there: \['delay'\]"):
            read(FILE + '\n[[note]]\nfigures = ["delay"]\ncause = "none"\n')

    def test_a_row_outside_is_traced_when_it_has_notes_and_all_of_them_are(self) -> None:
        def row(notes: str):
            found = read(FILE + notes)
            case = found.cases[0]
            theirs, ours = [{"bottleneck.loss": 0.1}] * 2, [{"port.r1->r2.loss": 0.2}] * 2
            return table(case, case.variants[0], "ns2", theirs, ours, found.notes).rows[0]

        known = '\n[[note]]\nfigures = ["loss"]\ncause = "known"\n'
        doubt = known.replace("known", "doubt") + "traced = false\n"
        verdicts = [row(notes).traced for notes in ("", known, doubt, known + doubt)]
        self.assertEqual(verdicts, [False, True, False, False])


if __name__ == "__main__":
    unittest.main()
