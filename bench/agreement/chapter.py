"""The chapter of docs/validation in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from casebook import FURTHER, REPLICAS
from paired import TOLERANCES, UNNOTICED_LOSS, Order, Ratio, Row
from notes import Note
from running import LATEST, LONGEST_STALL, MAX_STALLED, Job
from shared import Line, Page, causes_below, data_link, grid, versions_line

NAME = "kernel-tcp"
TITLE = "Against the kernel's own TCP"

ABOUT = f"""\
The same scenarios are simulated, and [rehearsed](../rehearse.md) over the TCP of this machine's kernel. Each case has a
baseline and another policy, with Reno and with CUBIC, and {REPLICAS} replicas that have the same arrivals in both engines.
The code between the hosts is the same on both sides. So the sides differ in TCP, in the sockets and in the machine's time.
The simulator's TCP is today's, with timers on the grid of this kernel ([`timer_tick`](../tcp-eras.md#linux)).
`make validate-rehearse` runs all cases, as root, and writes this page. The cases are in `bench/agreement`.

## Rules

- A row **holds** if the rehearsed figure differs from the simulated one by at most 20 % (medians), 30 % (95th
  percentiles), 10 % (goodput) or 25 % (loss).
- Times are those of transfers, or the delays of datagrams. Goodput is that of whole workloads. Loss is that of a
  workload's datagrams, or of all packets at the congested port.
- The **ratio** is rehearsed over simulated, from pairs of replicas: the geometric mean with the Student interval of the
  logarithms. For losses, which may be zero in a replica, it is the ratio of the means with the jackknife interval.
- A verdict is **settled** if the whole interval of the ratio is on its side of the target.
- A row that misses and is not settled is judged by {FURTHER} other pairs, with another seed, and by these alone. Rows
  that hold are not run again.
- These figures are not defined: the 95th percentile of fewer than 200 transfers in a replica, the median of fewer than
  20, and figures of fewer than three pairs.
- Losses of at most {UNNOTICED_LOSS * 100:.1f} % on both sides count as equal. A ratio without interval has a side that is
  zero in some replica.
- The tolerances and rules were written before the first run, with one exception: strict priority and WFQ were first
  ordered by the time of web transfers, which these policies do not change.
- A rehearsal counts if its packets left at most {LATEST * 1e3:.0f} ms late (99th percentile, in its latest replica), and
  if the machine stalled for at most {MAX_STALLED * 100:.0f} % of the time and {LONGEST_STALL * 1e3:.0f} ms at once. Other
  cases run again, alone. If they are late again, the chapter names them and omits their rows.
- The order of two policies is that of the mean completion time or delay of one workload, or of the mean wait at the
  port.
"""


@dataclass(frozen=True)
class Found:
    """The results of a case under one congestion control."""

    job: Job
    order: Order | None
    rows: Sequence[Row]
    late: float


def chapter(
    all_found: Sequence[Found], late: Sequence[Job], notes: Sequence[Note], versions: Mapping[str, str]
) -> Page:
    """The whole chapter, with its heading."""
    rows = [row for found in all_found for row in data_rows(found)]
    lines = [f"# {TITLE}", "", ABOUT, f"{data_link(NAME, len(rows))} {versions_line(versions)}", ""]
    lines += ["## Results", "", *summary(all_found)]
    if late:
        lines += ["Omitted, because they were late: " + ", ".join(job.name for job in late) + ".", ""]
    lines += ["## The order of policies", "", *orders(all_found), ""]
    lines += ["## Rows that miss, or did at first", "", *missing(all_found, notes), ""]
    lines += ["## Cases", "", *cases(all_found), ""]
    held = sum(row.judged.holds for found in all_found for row in found.rows)
    orders_alike = [found.order.alike for found in all_found if found.order]
    summary_lines = [Line(TITLE, NAME, "Linux", len(rows), held, len(rows) - held),
                     Line(f"{TITLE}: order of policies", NAME, "Linux", len(orders_alike), sum(orders_alike),
                          len(orders_alike) - sum(orders_alike))]  # fmt: skip
    return Page(NAME, "\n".join(lines), COLUMNS, rows, summary_lines)


COLUMNS = ("case", "tcp", "policy", "of", "figure", "simulated", "rehearsed", "ratio", "verdict")


def data_rows(found: Found) -> list[list[str]]:
    """The rows of a case for the data file."""
    return [
        [found.job.case.name, found.job.control, row.policy, row.subject, row.kind, value(row.kind, row.simulated),
         value(row.kind, row.rehearsed), ratio(row.ratio), whole_verdict(row).replace("*", "")]
        for row in found.rows
    ]  # fmt: skip


def rows_text(all_found: Sequence[Found]) -> list[str]:
    """All rows, for the terminal."""
    return grid(COLUMNS, [row for found in all_found for row in data_rows(found)], right=range(5, 8))


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
    """Each row that misses its target, or did at first, with the cause if it misses in the end."""
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


def cases(all_found: Sequence[Found]) -> list[str]:
    """The cases: how each is run, how late its packets left (99th percentile), and how many rows hold."""
    head = ["case", "scenario", "TCP", "late, ms", "rows", "hold", "settled"]
    body = []
    for found in all_found:
        case = found.job.case
        settings = f", {', '.join(f'`{setting}`' for setting in case.settings)}" if case.settings else ""
        judged = [row.judged for row in found.rows]
        body.append([case.name, f"`{case.scenario}`{settings}", found.job.control, f"{found.late * 1e3:.2f}", str(len(judged)),
                     str(sum(row.holds for row in judged)), str(sum(row.settled for row in judged))])  # fmt: skip
    return grid(head, body, right=range(3, 7))


def verdict(row: Row) -> str:
    word = "holds" if row.holds else "**misses**"
    return word if row.settled else f"{word}, not settled"


def whole_verdict(row: Row) -> str:
    """The verdict by the first pairs, and by further ones if there are any."""
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
