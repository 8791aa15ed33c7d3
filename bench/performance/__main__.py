"""Measures speed against the peers and growth; writes the tables of docs/performance.md.

The page and its figure are written after all measurements, or not at all. With --only the tables are
printed instead.

Exit codes: 0 measured, whatever the result; 2 a run failed or the page has no place for a table;
3 a program is missing; 130 interrupted.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Mapping

import figure
import growth
import page
import peers
import tables
from process import Failed
from works import NS3_PROGRAMS, ROOT, SHORTFLOW, available

PAGE = ROOT / "docs" / "performance.md"
FIGURE = ROOT / "docs" / "figures" / "growth.svg"


def main() -> int:
    """Runs the command; gives its exit code."""
    arguments = parse_arguments()
    if missing := missing_programs(arguments.only):
        print(f"error: missing: {', '.join(missing)}", file=sys.stderr)
        return 3
    try:
        parts, svg = measured(arguments)
        if arguments.only is None:
            text = page.filled(PAGE.read_text(), parts)
            page.replace(FIGURE, svg)
            page.replace(PAGE, text)
        print("\n".join(parts.values()))
    except (Failed, page.NoMarker) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the page is as it was", file=sys.stderr)
        return 130
    return 0


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="performance", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["peers", "growth"], help="measure a part and print it")
    parser.add_argument("--rounds", type=int, default=5, metavar="N",
                        help="how often each work is run (default: 5); growth takes half of it")
    return parser.parse_args()  # fmt: skip


def missing_programs(only: str | None) -> list[str]:
    missing = [] if SHORTFLOW.is_file() else ["shortflow (make build)"]
    if only != "growth":
        if shutil.which("ns") is None:
            missing.append("ns (Debian package ns2)")
        if not (NS3_PROGRAMS / "long-flows").is_file():
            missing.append("the ns-3 programs (make -C bench/peers/ns3, with Debian's libns3-dev)")
    return missing


def measured(arguments: argparse.Namespace) -> tuple[Mapping[str, str], str]:
    """The parts of the page by name, and the figure."""
    load = os.getloadavg()[0]
    parts, svg = {}, ""
    if arguments.only != "growth":
        results = peers.compare(arguments.rounds, told)
        parts |= {"ratios": tables.ratios(results), "limits": tables.limits(results),
                  "rates": tables.rates(results)}  # fmt: skip
    if arguments.only != "peers":
        found = growth.grow((arguments.rounds + 1) // 2, told)
        parts |= {"growth": tables.growth(found), "growth-limits": tables.growth_limits(found)}
        svg = figure.figure(found)
    parts |= {"machine": f"{page.machine()}; {versions()}; load {load:.1f} when the run began."}
    return parts, svg


def versions() -> str:
    """The peers' versions."""
    ns2, ns3 = page.package_version("ns2"), page.package_version("libns3-dev")
    htsim = "csg-htsim as it was given" if available("htsim") else "without csg-htsim"
    return f"ns-2 {ns2} and ns-3 {ns3} from Debian, {htsim}"


def told(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
