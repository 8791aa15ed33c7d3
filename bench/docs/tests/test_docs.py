"""The parts that read pages, help texts and sources."""

import tempfile
import tomllib
import unittest
from pathlib import Path

import commands
import fragments
import site_pages
import structs
from blocks import block_of
from paths import ROOT
from schema_keys import Schema

HELP = """\
Run a scenario.

More about it.

Usage: shortflow run [OPTIONS] <FILE>

Arguments:
  <FILE>
          The file

Options:
  -p, --policy <FILE>
          Use this policy
          [default: auto]
          [possible values: auto, never]

Examples:
  shortflow run a.toml
"""


class Reading(unittest.TestCase):
    def test_a_help_text_has_its_parts(self) -> None:
        found = commands.parse(("shortflow", "run"), HELP)
        self.assertEqual(found.usage, "shortflow run [OPTIONS] <FILE>")
        self.assertEqual([entry.name for entry in found.sections["Arguments"]], ["<FILE>"])
        self.assertEqual(found.sections["Options"][0].text, "Use this policy. Default: `auto`. Values: `auto`, `never`")
        self.assertEqual(found.after["Examples"].strip(), "shortflow run a.toml")

    def test_an_info_string_has_words_and_a_title(self) -> None:
        block = block_of(ROOT / "README.md", 1, "", "```", 'toml fragment title="a b.toml"', ["x = 1"])
        self.assertEqual((block.language, block.words, block.title), ("toml", {"fragment"}, "a b.toml"))

    def test_fields_have_names_of_files_and_documentation(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".rs") as file:
            file.write('/// A thing.\n#[derive(Debug)]\npub struct Thing {\n    /// Its name.\n    #[serde(rename = "called")]\n'
                       '    pub name: Option<String>,\n    #[serde(skip)]\n    pub hidden: u8,\n}\n')  # fmt: skip
            file.flush()
            found = structs.structs([Path(file.name)])["Thing"]
        self.assertEqual([(field.name, field.about, field.optional) for field in found.fields], [("called", "Its name.", True)])

    def test_every_key_of_a_schema_is_listed(self) -> None:
        schema = Schema({"properties": {"a": {"$ref": "#/$defs/PartFile"}}, "required": ["a"],
                         "$defs": {"PartFile": {"properties": {"b": {"type": "integer", "minimum": 1}}}}})  # fmt: skip
        tables = [(title, rows) for title, _, rows in schema.tables()]
        self.assertEqual(tables[0][1], [["`a`", "[`Part`](#part)", " Required."]])
        self.assertEqual(tables[1], ("Part", [["`b`", "whole number (at least 1)", ""]]))


class Fragments(unittest.TestCase):
    def test_a_fragment_changes_its_frame_and_replaces_workloads(self) -> None:
        frame = {"links": {"x": {"rate": "1 Mbit/s"}}, "workloads": {"w": {"bulk": {}}}}
        found = fragments.merged(frame, {"links": {"x": {"delay": "1 ms"}}, "workloads": {"w": {"web": {}}}})
        self.assertEqual(found, {"links": {"x": {"rate": "1 Mbit/s", "delay": "1 ms"}}, "workloads": {"w": {"web": {}}}})
        self.assertEqual(tomllib.loads(fragments.dumped(found)), found)

    def test_hosts_without_a_link_get_one(self) -> None:
        found = fragments.linked({"hosts": {"a": {}, "b": {}}, "routers": {"r": {}}, "links": {"x": {"between": ["a", "r"]}}})
        self.assertEqual(found["links"]["added-b"]["between"], ["b", "r"])

    def test_alternatives_of_one_key_are_parts(self) -> None:
        found = list(fragments.parts('[links.x]\nrate = "1 Mbit/s"\nrate = "2 Mbit/s"\n'))
        self.assertEqual(found, [{"links": {"x": {"rate": "1 Mbit/s"}}}, {"links": {"x": {"rate": "2 Mbit/s"}}}])


class Site(unittest.TestCase):
    def test_pages_are_adapted_outside_of_blocks_alone(self) -> None:
        text = "- a\n  - b\n\n```toml fragment\n  - c\n```\n"
        self.assertEqual(site_pages.adapted(ROOT / "README.md", text), "- a\n    - b\n\n```toml\n  - c\n```\n")

    def test_a_link_to_a_folder_goes_to_its_readme(self) -> None:
        self.assertEqual(site_pages.adapted(ROOT / "README.md", "[p](policies) [s](setup)"), "[p](policies/README.md) s")


if __name__ == "__main__":
    unittest.main()
