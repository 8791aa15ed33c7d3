"""The chapter of docs/validation.md in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from casebook import FURTHER, REPLICAS, Case
from paired import TOLERANCES, UNNOTICED_LOSS, Order, Ratio, Row
from notes import Note
from running import LATEST, LONGEST_STALL, MOST_STALLED, Job
from shared import causes_below, grid


TITLE = "Against the kernel's own TCP"

ABOUT = f"""\
The same scenarios simulated and rehearsed, over this machine's own TCP ([how](rehearse.md)), each under a baseline
and another policy, with Reno and with CUBIC; {REPLICAS} replicas, which have the same arrivals by both engines. What
lies between the hosts is the same code on both sides; so what differs is TCP, the sockets, and the machine's time.
The simulator's TCP is that of today, with timers on the grid of this kernel ([`timer_tick`](tcp-eras.md#linux)).
`make validate-rehearse` runs all of it, as root, and writes this chapter; the cases are in `bench/agreement`.

A figure is **held** when the rehearsed one differs from the simulated one by at most 20 % (medians), 30 % (95th
percentiles), 10 % (goodput) or 25 % (loss). Times are those of transfers, or the delays of datagrams; goodput is that
of whole workloads; loss is that of a workload's datagrams, or of all packets at the congested port. The **ratio** is
rehearsed over simulated, from pairs of replicas: the geometric mean with the Student interval of the logarithms; of
losses, in which a replica may have none, the ratio of the means with the interval of the jackknife. A verdict is
**settled** when all of the ratio's interval is on its side of the target. A row that misses and is not settled is judged
by {FURTHER} other pairs, with another seed, and by these alone; rows that hold are not asked again. Not defined, and so left out: the 95th
percentile of fewer than 200 transfers in a replica, the median of fewer than 20, and what fewer than three pairs have.
Losses of at most {UNNOTICED_LOSS * 100:.1f} % on both sides are alike. A ratio without interval has a side that is zero
in some replica. The tolerances were written down before the first run, and so were the rules but for one: strict
priority and WFQ were first ordered by the time of web transfers, which those policies leave as it is.

A rehearsal is believed when its packets left at most {LATEST * 1e3:.0f} ms late (99th percentile, in its latest
replica) and the machine stood still for at most {MOST_STALLED * 100:.0f} % of the time, and {LONGEST_STALL * 1e3:.0f} ms
at once; other cases are run again, alone, and otherwise left out and named. The order of two policies is that
of the mean completion time or delay of one workload, or of the mean wait at the port.
"""


@dataclass(frozen=True)
class Found:
    """What a case came to under one congestion control."""

    job: Job
    order: Order | None
    rows: Sequence[Row]
    late: float


def chapter(
    all_found: Sequence[Found], late: Sequence[Job], notes: Sequence[Note], versions: Mapping[str, str]
) -> str:
    """The whole chapter, with its heading."""
    lines = [f"## {TITLE}", "", ABOUT]
    lines += [*(f"- {side}: {version}" for side, version in versions.items()), ""]
    lines += summary(all_found)
    if late:
        lines += ["Left out, since they are not believed: " + ", ".join(job.name for job in late) + ".", ""]
    lines += ["### The order of policies", "", *orders(all_found), ""]
    lines += ["### Rows that miss, or did at first", "", *missing(all_found, notes), ""]
    for case in dict.fromkeys(found.job.case for found in all_found):
        own = [found for found in all_found if found.job.case == case]
        lines += [f"### {heading(case)}", "", *case_text(case, own, notes), ""]
    return "\n".join(lines)


def heading(case: Case) -> str:
    return f"{case.name}, rehearsed"


def summary(all_found: Sequence[Found]) -> list[str]:
    """How many rows hold, by kind of figure."""
    head = ["figure", "target", "rows", "hold", "of these settled", "by further pairs", "miss", "of these settled"]
    body = []
    rows = [row for found in all_found for row in found.rows]
    for kind, tolerance in TOLERANCES.items():
        own = [row for row in rows if row.kind == kind]
        held, missed = [r for r in own if r.judged.holds], [r for r in own if not r.judged.holds]
        body.append([kind, f"{tolerance * 100:.0f} %", *map(str, (
            len(own), len(held), sum(r.judged.settled for r in held), sum(r.further is not None for r in held),
            len(missed), sum(r.judged.settled for r in missed)))])  # fmt: skip
    orders = [found.order for found in all_found if found.order]
    alike, other = [o for o in orders if o.alike], [o for o in orders if not o.alike]
    body.append(["order of policies", "the same", *map(str, (
        len(orders), len(alike), sum(o.settled for o in alike), "",
        len(other), sum(o.settled for o in other)))])  # fmt: skip
    return [*grid(head, body, right=range(2, 8)), ""]


def orders(all_found: Sequence[Found]) -> list[str]:
    """How each engine orders the policies of each case."""
    head = ["case", "TCP", "by", "second policy over baseline, simulated", "rehearsed", "order"]
    body = []
    for found in all_found:
        case, order = found.job.case, found.order
        by = "wait at the port" if case.order == "wait" else case.order
        if order is None:
            body.append([case.name, found.job.control, by, "–", "–", "not defined"])
            continue
        verdict = "the same" if order.alike else "**not the same**"
        verdict += "" if order.settled else ", not settled"
        body.append([case.name, found.job.control, by, ratio(order.simulated),
                     ratio(order.rehearsed), verdict])  # fmt: skip
    return grid(head, body, right=range(3, 5))


def missing(all_found: Sequence[Found], notes: Sequence[Note]) -> list[str]:
    """Each row that misses its target, or did at first; and why, where it does in the end."""
    at_first = [(found, row) for found in all_found for row in found.rows if not row.holds]
    if not at_first:
        return ["None."]
    causes = [note.cause for note in notes
              if any(note.fits(found.job, row) for found, row in at_first if not row.judged.holds)]  # fmt: skip
    marks = {cause: chr(ord("a") + at) for at, cause in enumerate(dict.fromkeys(causes))}
    head = ["case", "TCP", "policy", "of", "figure", f"ratio of {REPLICAS} pairs", f"of {FURTHER} others", "verdict",
            "cause"]  # fmt: skip
    body = []
    for found, row in at_first:
        own = [note for note in notes if not row.judged.holds and note.fits(found.job, row)]
        told = " ".join(f"({marks[note.cause]})" for note in own) or ("" if row.judged.holds else "not traced")
        body.append([found.job.case.name, found.job.control, row.policy, row.subject, row.kind, ratio(row.ratio),
                     ratio(row.further.ratio) if row.further else "", verdict(row.judged), told])  # fmt: skip
    tested = {note.cause: note.tested for note in notes}
    texts = {f"{cause} {'Tested.' if tested[cause] else 'Likely; not tested.'}": mark
             for cause, mark in marks.items()}  # fmt: skip
    return [*grid(head, body, right=[5, 6]), *causes_below(texts)]


def case_text(case: Case, all_found: Sequence[Found], notes: Sequence[Note]) -> list[str]:
    """A case: what was run, and a table of all its figures."""
    settings = f", with {', '.join(f'`{setting}`' for setting in case.settings)}" if case.settings else ""
    late = " and ".join(f"{found.late * 1e3:.2f} ms ({found.job.control})" for found in all_found)
    lines = [f"`{case.scenario}`{settings}. Packets left at most {late} late (99th percentile).", ""]
    head = ["TCP", "policy", "of", "figure", "simulated", "rehearsed", "ratio", "verdict"]
    body = [
        [found.job.control, row.policy, row.subject, row.kind, value(row.kind, row.simulated),
         value(row.kind, row.rehearsed), ratio(row.ratio), whole_verdict(row)]
        for found in all_found for row in found.rows
    ]  # fmt: skip
    return [*lines, *grid(head, body, right=range(4, 7))]


def verdict(row: Row) -> str:
    word = "holds" if row.holds else "**misses**"
    return word if row.settled else f"{word}, not settled"


def whole_verdict(row: Row) -> str:
    """By the first pairs, and by further ones where there are any."""
    return f"{verdict(row)}; {FURTHER} others: {verdict(row.further)}" if row.further else verdict(row)


def ratio(found: Ratio | None) -> str:
    """A ratio with its interval."""
    return "–" if found is None else f"{found.mean:.2f} ({found.low:.2f} to {found.high:.2f})"


def value(kind: str, figure: float) -> str:
    """A figure in the unit of its kind."""
    if kind == "goodput":
        return f"{figure * 8 / 1e6:.2f} Mbit/s"
    if kind == "loss":
        return f"{figure * 100:.2f} %"
    return f"{figure * 1e3:.1f} ms"
