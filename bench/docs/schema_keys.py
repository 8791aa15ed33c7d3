"""docs/reference/scenario-keys.md, policy-keys.md and plans-keys.md: every key of a file format, from its JSON Schema."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paths import Failed
from tables import generated, table

ABOUT = {
    "scenario": "All keys of a scenario, from its JSON Schema (`shortflow schema scenario`). [Writing scenarios](../writing-scenarios.md) explains them.",
    "policy": "All keys of a policy, from its JSON Schema (`shortflow schema policy`). [Writing policies](../writing-policies.md) "
              "explains them; [markers and queues](../elements.md) describes each scheme with an example.",
    "plans": "All keys of plans of customers, from their JSON Schema (`shortflow schema plans`). [Plans](../plans.md) shows them in use, and the "
             "columns of the table of customers.",
}  # fmt: skip
TITLE = {"scenario": "Keys of a scenario", "policy": "Keys of a policy", "plans": "Keys of plans"}
WITH_PARAMETERS = ["scenario", "policy"]


def page(shortflow: Path, what: str) -> str:
    """The page of a file format."""
    ended = subprocess.run([shortflow, "schema", what], capture_output=True, text=True)
    if ended.returncode != 0:
        raise Failed(f"`shortflow schema {what}` failed: {ended.stderr}")
    schema = Schema(json.loads(ended.stdout))
    lines = generated(TITLE[what], ABOUT[what])
    if what in WITH_PARAMETERS:
        lines += ["A value that begins with `$` stands for a parameter, one that begins with `=` for an expression of parameters.", ""]
    for title, about, body in schema.tables():
        lines += [f"## {title}", "", *([about, ""] if about else []), *table(["key", "value", "meaning"], body), ""]
    lines += ["## Values", "", *table(["name", "value", "meaning"], schema.values())]
    return "\n".join(lines).rstrip() + "\n"


class Schema:
    """A JSON Schema, and the names under which its parts are shown."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.named = root["$defs"]

    def tables(self) -> Iterator[tuple[str, str, list[list[str]]]]:
        """A table for each object with keys: the file first, then the others by name."""
        yield "The file", self.about(self.root), self.rows(self.root)
        for name, part in sorted(self.named.items()):
            if "properties" in part:
                yield shown(name), self.about(part), self.rows(part)

    def values(self) -> list[list[str]]:
        """The named values without keys of their own."""
        return [[f"`{shown(name)}`", self.kind(part), self.about(part) or self.meanings(part)]
                for name, part in sorted(self.named.items()) if "properties" not in part and not name.startswith(GENERIC)]  # fmt: skip

    def meanings(self, part: dict[str, Any]) -> str:
        """What each of the names means that a value may be."""
        named = [each for each in part.get("anyOf", part.get("oneOf", [])) if "const" in each and "description" in each]
        return " ".join(f"`{json.dumps(each['const'])}`: {self.about(each)}" for each in named)

    def rows(self, part: dict[str, Any]) -> list[list[str]]:
        """The keys of an object; nested objects without a name follow with their path."""
        required = set(part.get("required", []))
        found = []
        for key, value in part["properties"].items():
            meaning = self.about(value)
            if key in required:
                meaning += " Required."
            if "default" in value:
                meaning += f" Default: `{json.dumps(value['default'], ensure_ascii=False)}`."
            found.append([f"`{key}`", self.kind(value), meaning])
        return found

    def about(self, part: dict[str, Any]) -> str:
        text = " ".join(part.get("description", "").split())
        return text if not text or text.endswith((".", ":")) else text + "."

    def kind(self, part: dict[str, Any]) -> str:
        """What a value may be, in words."""
        if "$ref" in part:
            return self.link(part["$ref"].rsplit("/", 1)[1])
        for key in ("anyOf", "oneOf"):
            if key in part and "properties" not in part:
                kinds = [self.kind(each) for each in part[key] if each.get("pattern") != "^[$=]"]
                return " or ".join(dict.fromkeys(kind for kind in kinds if kind)) or "text"
        if "const" in part:
            return f"`{json.dumps(part['const'])}`"
        if "enum" in part:
            return " or ".join(f"`{json.dumps(each)}`" for each in part["enum"])
        return self.plain_kind(part)

    def link(self, name: str) -> str:
        """A named part: a link to its table, its name, or, for a list or table of others, what it holds."""
        if name.startswith(GENERIC):
            return self.kind(self.named[name])
        return f"[`{shown(name)}`](#{shown(name).lower()})" if "properties" in self.named[name] else f"`{shown(name)}`"

    def plain_kind(self, part: dict[str, Any]) -> str:
        name = part.get("type")
        if isinstance(name, list):
            return " or ".join(self.plain_kind(part | {"type": each}) for each in name if each != "null")
        if name == "array":
            return f"list of {self.kind(part['items'])}" if "items" in part else "list"
        if name == "object" and "properties" in part:
            return "table with " + ", ".join(f"`{key}`: {self.kind(value)}" for key, value in part["properties"].items())
        if name == "object":
            inner = part.get("additionalProperties")
            return f"table of {self.kind(inner)} by name" if isinstance(inner, dict) else "table"
        words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}.get(name, "value")
        bounds = [f"{text} {part[key]}" for key, text in
                  (("minimum", "at least"), ("maximum", "at most"), ("exclusiveMinimum", "above"), ("exclusiveMaximum", "below"))
                  if key in part]  # fmt: skip
        example = f", such as `\"{part['examples'][0]}\"`" if name == "string" and part.get("examples") else ""
        return words + (f" ({', '.join(bounds)})" if bounds else "") + example


# Types that are shown by what they hold.
GENERIC = ("Named_", "OneOrList_", "PerLink_")


def shown(name: str) -> str:
    """The name of a type without the suffix that only the code needs."""
    return name.removesuffix("File")
