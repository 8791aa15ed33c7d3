"""Chapters on the disk."""

import csv
import io
import tempfile
import unittest
from pathlib import Path

from publish import Line, Page, publish


def page(name: str, held: int, missed: int) -> Page:
    line = Line(name.title(), name, "ns-2", held + missed, held, missed)
    return Page(name, f"# {name.title()}", ["figure", "verdict"], [["loss, core", "within"]] * (held + missed), [line])


class Publishing(unittest.TestCase):
    def setUp(self) -> None:
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.docs = Path(home.name)

    def test_a_command_replaces_its_own_chapters_alone(self) -> None:
        publish("validate-rehearse", [page("kernel", 3, 1)], self.docs)
        publish("validate", [page("flows", 2, 0), page("queues", 1, 0)], self.docs)
        publish("validate", [page("flows", 1, 1)], self.docs)
        names = sorted(path.name for path in (self.docs / "validation").iterdir())
        self.assertEqual(names, ["chapters.csv", "flows.csv", "flows.md", "kernel.csv", "kernel.md"])
        summary = (self.docs / "validation.md").read_text()
        lines = [line for line in summary.splitlines() if line.startswith("| [") and "validation/" in line]
        self.assertEqual(lines[0], "| [Flows](validation/flows.md) | ns-2 | 2 | 1 | 1 | [flows.csv](validation/flows.csv) |")
        self.assertEqual([line.split("]")[0] for line in lines if "make" not in line], ["| [Flows", "| [Kernel"])
        self.assertIn("| all | | 6 | 4 | 2 | |", summary)

    def test_every_row_is_in_the_data_of_its_chapter(self) -> None:
        publish("validate", [page("flows", 2, 1)], self.docs)
        rows = list(csv.DictReader(io.StringIO((self.docs / "validation/flows.csv").read_text())))
        self.assertEqual(rows, [{"figure": "loss, core", "verdict": "within"}] * 3)


if __name__ == "__main__":
    unittest.main()
