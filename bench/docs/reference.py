"""The reference: pages that are written from code."""

from pathlib import Path

import commands
import metrics
import other
import results
import schema_keys
from paths import REFERENCE, ROOT, Failed


def pages(shortflow: Path) -> dict[str, str]:
    """All pages by the names of their files."""
    return {
        "commands.md": commands.page(shortflow),
        "policy-keys.md": schema_keys.page(shortflow, "policy"),
        "scenario-keys.md": schema_keys.page(shortflow, "scenario"),
        "plans-keys.md": schema_keys.page(shortflow, "plans"),
        "fleet-keys.md": other.fleet_page(),
        "results.md": results.page(),
        "metrics.md": metrics.page(),
        "exit-codes.md": other.exit_page(shortflow),
    }


def write(shortflow: Path) -> None:
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages(shortflow).items():
        (REFERENCE / name).write_text(text)
        print(f"wrote {(REFERENCE / name).relative_to(ROOT)}")


def check(shortflow: Path) -> None:
    """Fails if a page is stale, or lacks a key that a run writes."""
    results.check_run(shortflow)
    stale = [name for name, text in pages(shortflow).items()
             if not (REFERENCE / name).is_file() or (REFERENCE / name).read_text() != text]  # fmt: skip
    if stale:
        raise Failed(f"stale in docs/reference: {', '.join(stale)}: run `make reference`")
