"""Tries every shipped policy on Debian's stock kernels, in virtual machines, and writes docs/kernels.md.

    python3 -B bench/kernels [--shortflow PATH] [--kernel bookworm] [--kernel trixie] [--kernel sid] [--short]

Fetches the kernels with apt into target/kernels, without changing the machine's package sources. Each boots under QEMU, without
hardware acceleration, with a small file system in memory: BusyBox, iproute2, the kernel's modules for traffic control, and our
program. The machine has no network; packets pass between network namespaces in it.

With --kernel or --short the page stays as it is, and results are only printed. --short tries each policy natively at one role,
and three inline. Machines with different kernels run side by side. Exit codes: 0 every check held; 1 one did not;
3 this machine lacks something.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machines import SUITES, Kernel, Lacking, fetch, missing_tools
from page import write_page
from trial import run_trial

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "target" / "kernels"


def main() -> int:
    parser = argparse.ArgumentParser(prog="kernels", description=__doc__.splitlines()[0])
    parser.add_argument("--shortflow", type=Path, default=ROOT / "target" / "release" / "shortflow")
    parser.add_argument("--kernel", action="append", choices=SUITES, help="only this suite's kernel; repeatable")
    parser.add_argument("--short", action="store_true", help="try less of each policy")
    parser.add_argument("--verbose", action="store_true", help="show the machines' consoles")
    arguments = parser.parse_args()
    if missing := missing_tools():
        print(f"skipped: needs {', '.join(missing)}: apt-get install {' '.join(missing)}", file=sys.stderr)
        return 3

    def tried(kernel: Kernel) -> list[dict]:
        return run_trial(kernel, arguments.shortflow.resolve(), ROOT, CACHE, short=arguments.short, verbose=arguments.verbose)

    try:
        kernels = [fetch(suite, CACHE) for suite in arguments.kernel or SUITES]
        for kernel in kernels:
            print(f"{kernel.suite}: Linux {kernel.version}", file=sys.stderr)
        with ThreadPoolExecutor(2) as machines:
            found = dict(zip(kernels, machines.map(tried, kernels), strict=True))
    except Lacking as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    failures = [f"{kernel.version}: {result['policy']}: {result['way']}: {result['what']}"
                for kernel, results in found.items() for result in results if result["state"] == "failed"]  # fmt: skip
    for kernel, results in found.items():
        states = [result["state"] for result in results]
        print(f"{kernel.version}: " + ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states))))
    for failure in failures:
        print(failure)
    if not arguments.kernel and not arguments.short:
        write_page(ROOT / "docs" / "kernels.md", found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
