"""Attacks the program as other users of the machine, servers and authors of files could.

    python3 -B bench/attack [--seconds 600] [--seed N] [--short] [--only links,mutate,sockets,locks,repository]

SHORTFLOW names the program; the default is the release build. These are findings, and make the suite end with 1: a panic, a hang, a
change to a foreign file, a control character in the output, an exit code other than 0 to 3. Inputs that found
something are kept in target/attack.
"""

import argparse
import os
import sys
import time

import links
import locks
import mutate
import repository
import sockets
from harness import Bench, program

PARTS = ["repository", "links", "locks", "sockets", "mutate"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("ATTACK_SECONDS", 600)))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--short", action="store_true", help="the part that `make test` runs")
    parser.add_argument("--only", default=",".join(PARTS))
    args = parser.parse_args()
    if not program().exists():
        print(f"there is no {program()}: make build", file=sys.stderr)
        return 3
    bench, wanted = Bench(), args.only.split(",")
    parts = {
        "repository": lambda: repository.attack(bench),
        "links": lambda: links.attack(bench, args.short),
        "locks": lambda: locks.attack(bench),
        "sockets": lambda: sockets.attack(bench, args.seed, args.short),
        "mutate": lambda: mutate.attack(bench, args.seconds, args.seed),
    }
    for name in PARTS:
        if name in wanted:
            begun = time.monotonic()
            parts[name]()
            print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)
    return bench.end()


if __name__ == "__main__":
    sys.exit(main())
