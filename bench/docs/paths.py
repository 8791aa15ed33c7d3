"""Where things are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
TARGET = ROOT / "target"


class Failed(Exception):
    """A command that could not be done: what, and what to do."""
