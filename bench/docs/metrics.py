"""docs/reference/metrics.md: every metric of the agent, from the text that a test of its crate keeps current."""

import re

from paths import ROOT, Failed
from tables import generated, table

GOLDEN = ROOT / "crates/fleet/agent/tests/metrics.txt"
SOURCES = ROOT / "crates/fleet/agent/src/metrics"


def page() -> str:
    """The whole page."""
    text = GOLDEN.read_text()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    lines = generated("Metrics of the agent", "All metrics that `shortflow agent metrics` and `agent run --metrics` offer.")
    lines += ["[Metrics of the agent](../metrics.md) explains how to scrape them.", ""]
    rows = [[f"`{name}`", kinds[name], labels(text, name), about] for name, about in re.findall(r"^# HELP (\S+) (.*)$", text, re.M)]
    missing = in_code() - {row[0].strip("`") for row in rows}
    if missing:
        raise Failed(f"{GOLDEN.relative_to(ROOT)} lacks {', '.join(sorted(missing))}: extend its test")
    return "\n".join([*lines, *table(["metric", "type", "labels", "meaning"], rows)]) + "\n"


def labels(text: str, name: str) -> str:
    """The labels of a metric's samples."""
    found = re.findall(rf"^{name}(?:_bucket|_sum|_count)?{{(.*)}} ", text, re.M)
    names = dict.fromkeys(label for each in found for label in re.findall(r'(\w+)="', each))
    return ", ".join(f"`{label}`" for label in names)


def in_code() -> set[str]:
    """The whole names of metrics that the source has."""
    return set(re.findall(r'"(shortflow_(?:agent|repository|machine|source|device|class|edge)_\w+)"',
                          "".join(path.read_text() for path in sorted(SOURCES.glob("*.rs")))))  # fmt: skip
