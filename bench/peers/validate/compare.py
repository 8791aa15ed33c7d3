"""Rows of the page: one figure of one variant on both sides, and whether they agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import estimate
import figures
from cases import Case, Figure, Note, Variant
from estimate import Estimate
from figures import Figures


@dataclass(frozen=True)
class Row:
    """One figure on both sides. `causes` say why it is outside, if it is."""

    title: str
    theirs: Estimate
    ours: Estimate
    causes: tuple[str, ...]
    tolerance: float = estimate.TOLERANCE
    traced: bool = True

    @property
    def agrees(self) -> bool:
        """Whether it is within the tolerance, or the intervals overlap."""
        return estimate.agree(self.theirs, self.ours, self.tolerance)

    @property
    def near(self) -> bool:
        """Whether it is within the tolerance."""
        return estimate.near(self.theirs, self.ours, self.tolerance)

    @property
    def overlaps(self) -> bool:
        """Whether the intervals overlap."""
        return estimate.overlap(self.theirs, self.ours)

    @property
    def difference(self) -> float | None:
        """The relative difference of our mean from theirs."""
        return estimate.difference(self.theirs, self.ours)


@dataclass(frozen=True)
class Table:
    """All rows of one variant against one peer."""

    case: Case
    variant: Variant
    peer: str
    rows: tuple[Row, ...]


def table(
    case: Case, variant: Variant, peer: str,
    theirs: Sequence[Figures], ours: Sequence[Figures], notes: Sequence[Note],
) -> Table:  # fmt: skip
    """Compares the results of the seeds on each side."""
    rows: list[Row] = []
    tolerance = variant.peers[peer].get("tolerance", estimate.TOLERANCE)
    for figure in case.figures:
        if peer not in figure.theirs:
            continue
        for title, at_peer, here in names(figure, peer, theirs[0], ours[0]):
            their_estimate = over(theirs, at_peer, figure.counts)
            our_estimate = over(ours, here, figure.counts)
            if their_estimate is None or our_estimate is None:
                continue
            found: list[Note] = []
            if not estimate.agree(their_estimate, our_estimate, tolerance):
                found = [note for note in notes if fits(note, case, variant, peer, figure)]
            causes = tuple(note.cause for note in found)
            traced = bool(found) and all(note.traced for note in found)
            rows.append(Row(title, their_estimate, our_estimate, causes, tolerance, traced))
    return Table(case, variant, peer, tuple(rows))


def names(
    figure: Figure, peer: str, theirs: Figures, ours: Figures
) -> Iterator[tuple[str, str, str]]:
    """The title, the peer's name and our name of each figure that both patterns match."""
    here = figures.matches(figure.ours, ours)
    there = figures.matches(figure.theirs[peer], theirs)
    for key in sorted(here.keys() & there.keys(), key=by_number):
        yield figure.title.replace("*", key), there[key], here[key]


def by_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return float("inf"), text


def over(seeds: Sequence[Figures], name: str, counts: bool) -> Estimate | None:
    """The mean over seeds; `None` if a seed lacks the figure, such as a time without transfers."""
    values = [seed[name] for seed in seeds if name in seed]
    return Estimate.over(values, counts) if len(values) == len(seeds) else None


def fits(note: Note, case: Case, variant: Variant, peer: str, figure: Figure) -> bool:
    """Whether `note` is about this figure here."""
    return (
        (not note.figures or figure.title in note.figures)
        and (not note.cases or case.name in note.cases)
        and note.peer in (None, peer)
        and all(variant.values.get(name) in values for name, values in note.where.items())
    )
