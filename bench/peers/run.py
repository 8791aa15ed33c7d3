#!/usr/bin/env python3
"""Runs a named reference case of a peer simulator over several seeds.

Prints mean and 95 % interval (Student's t over seeds) of every figure, as a table or as JSON.

    run.py                        list the cases
    run.py S --seeds 5            run one, print its table
    run.py diffserv --json        the same as JSON, in the form of ns2/reference/*.json
    run.py S --set rho=0.7        with other settings (see the head of each script)
"""

import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

SCRIPTS = pathlib.Path(__file__).resolve().parent / "ns2"


@dataclass
class Case:
    """One script, run in several variants of its settings."""

    about: str
    script: str
    seeds: int
    headline: str  # regular expression: the figures that the table shows by default
    variants: dict = field(default_factory=lambda: {"default": {}})


LONG_HEADLINE = r"bottleneck|timeouts|retransmi|^goodput|jain"
TRANSFER_HEADLINE = r"started|completed|open|tcp|during.*(forwarded|dropped|queue)|completion.*mean"
DIFFSERV_HEADLINE = r"cloud_0.*completion.*\.mean|completion_s.mean|open_at|during.*(queue|dropped)"

AGREEMENTS = {
    "best effort": {"cir_servers_kbps": 0, "cir_clients_kbps": 0},
    "servers": {"cir_servers_kbps": 6400, "cir_clients_kbps": 0},
    "both": {"cir_servers_kbps": 6400, "cir_clients_kbps": 560},
}


def diffserv_variants(alphas, agreements, **common):
    return {
        f"alpha {alpha}, agreement: {name}": {"alpha": alpha, **AGREEMENTS[name], **common}
        for alpha in alphas
        for name in agreements
    }


def pftk_variants():
    return {
        f"{tcp}, p {loss}, min RTO {rto} s": {"tcp": tcp, "loss": loss, "min_rto": rto}
        for tcp in ("Reno", "Newreno", "Sack1")
        for rto in (0.2, 1)
        for loss in (0.001, 0.003, 0.01, 0.03)
    }


CASES = {
    "A": Case("20 long NewReno flows, 100 Mbit/s DropTail", "long-flows.tcl", 3, LONG_HEADLINE),
    "B": Case(
        "400 long NewReno flows, 1 Gbit/s DropTail", "long-flows.tcl", 1, LONG_HEADLINE,
        {"default": {"flows": 400, "rate_mbps": 1000, "access_mbps": 10000, "buffer": 5000,
                     "duration": 20}},
    ),
    "long-flows": Case(
        "10 long flows of equal round trips, 10 Mbit/s: TCPs and queues", "long-flows.tcl", 5,
        LONG_HEADLINE,
        {
            f"{tcp}, {queue}, {'delayed ACKs' if delayed else 'ACK per segment'}": {
                "tcp": tcp, "queue": queue, "delayed_ack": delayed, "flows": 10, "rate_mbps": 10,
                "delay_ms": 20, "rtt_steps": 1, "rtt_min_ms": 60, "buffer": 100,
                "duration": 220, "warmup": 20, "overhead": 0.001}
            for tcp in ("Reno", "Newreno", "Sack1")
            for queue in ("DropTail", "RED")
            for delayed in (0, 1)
        },
    ),
    "S": Case(
        "request/reply transfers over one RED queue", "transactions.tcl", 5, TRANSFER_HEADLINE,
        {"rho 0.8": {"rho": 0.8}, "rho 0.6": {"rho": 0.6}},
    ),
    "S-droptail": Case(
        "request/reply transfers over one DropTail queue", "transactions.tcl", 5,
        TRANSFER_HEADLINE,
        {f"rho {rho}": {"rho": rho, "queue": "DropTail"} for rho in (0.3, 0.6, 0.8)},
    ),
    "D": Case("the DiffServ domain for a minute", "diffserv.tcl", 4, DIFFSERV_HEADLINE),
    "diffserv": Case(
        "the DiffServ domain, 200 s", "diffserv.tcl", 4, DIFFSERV_HEADLINE,
        diffserv_variants((0.6, 0.8, 0.95), AGREEMENTS, duration=200, drain=60),
    ),
    "diffserv-600": Case(
        "the DiffServ domain, 600 s", "diffserv.tcl", 1, DIFFSERV_HEADLINE,
        diffserv_variants((0.6, 0.8), ("both",), duration=600, drain=60),
    ),
    "diffserv-rho-0.6": Case(
        "the DiffServ domain at a load that settles", "diffserv.tcl", 4, DIFFSERV_HEADLINE,
        diffserv_variants((0.8,), AGREEMENTS, rho=0.6, duration=200, drain=60),
    ),
    "pftk": Case(
        "one long flow under random loss", "pftk.tcl", 5, r".*", pftk_variants(),
    ),
}


def main():
    arguments = parse_arguments()
    if arguments.case is None:
        for name, case in CASES.items():
            print(f"{name:18} {case.about} ({len(case.variants)} variants, {case.seeds} seeds)")
        return
    case = CASES[arguments.case]
    seeds = range(1, (arguments.seeds or case.seeds) + 1)
    overrides = dict(setting.split("=", 1) for setting in arguments.set)
    deadline = time.monotonic() + arguments.timeout
    variants = [
        run_variant(case.script, name, {**settings, **overrides}, seeds, deadline)
        for name, settings in case.variants.items()
        if arguments.only in name
    ]
    if arguments.json:
        print(report_json(arguments.case, case, seeds, variants))
    else:
        print_tables(variants, re.compile(arguments.match or case.headline))


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", choices=CASES, metavar="CASE")
    parser.add_argument("--seeds", type=int, metavar="N", help="seeds 1 to N")
    parser.add_argument("--only", default="", metavar="TEXT", help="variants whose name has TEXT")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--match", metavar="REGEX", help="figures to show in the table")
    parser.add_argument("--timeout", type=float, default=3600, metavar="SECONDS",
                        help="for everything together (default: 3600)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def run_variant(script, name, settings, seeds, deadline):
    outputs = []
    for seed in seeds:
        print(f"{script}: {name}, seed {seed}", file=sys.stderr)
        outputs.append(run_once(script, {**settings, "seed": seed}, deadline))
    parameters = {key: value for key, value in outputs[0]["parameters"].items() if key != "seed"}
    runs = [dict(figures(output)) for output in outputs]
    keys = [key for key in runs[0] if all(key in run for run in runs)]
    return {
        "name": name,
        "simulator": outputs[0]["simulator"],
        "parameters": parameters,
        "results": {key: mean_and_half_width([run[key] for run in runs]) for key in keys},
    }


def run_once(script, settings, deadline):
    options = [word for name, value in settings.items() for word in (f"-{name}", str(value))]
    with tempfile.TemporaryDirectory() as scratch:
        try:
            done = subprocess.run(
                ["ns", str(SCRIPTS / script), *options], cwd=scratch, text=True,
                stdin=subprocess.DEVNULL, capture_output=True,
                timeout=max(deadline - time.monotonic(), 0.001))
        except subprocess.TimeoutExpired:
            sys.exit("error: out of time; allow more with --timeout")
        except FileNotFoundError:
            sys.exit("error: no program `ns`; Debian has it in the package ns2")
    if done.returncode != 0:
        sys.exit(f"error: {script} failed:\n{done.stderr or done.stdout}")
    return json.loads(done.stdout)


def figures(output, prefix=""):
    """The numbers of one run by dotted name; lists (such as goodput by flow) are left out."""
    for key, value in output.items():
        if prefix == "" and key == "parameters":
            continue
        if isinstance(value, dict):
            yield from figures(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            yield prefix + key, value


def mean_and_half_width(values):
    """The mean and half the width of its 95 % interval (None for a single value)."""
    count = len(values)
    mean = sum(values) / count
    if count < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, student_97_5(count - 1) * math.sqrt(variance / count)


def student_97_5(freedom):
    """The 97.5 % quantile of Student's t; beyond the table, the next smaller entry (wider)."""
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306,
             9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000}
    return table[max(entry for entry in table if entry <= freedom)]


def print_tables(variants, match):
    for variant in variants:
        print(f"\n{variant['name']}")
        for key, (mean, half_width) in variant["results"].items():
            if match.search(key):
                interval = "" if half_width is None else f" ± {half_width:.4g}"
                print(f"  {key:58} {mean:>14.6g}{interval}")


def report_json(name, case, seeds, variants):
    head = {
        "case": name,
        "about": case.about,
        "script": case.script,
        "simulator": variants[0]["simulator"] if variants else None,
        "package": package_version(),
        "seeds": list(seeds),
        "results_are": "[mean, half width of the 95 % interval over seeds]",
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}," for key, value in head.items()]
    bodies = ",\n".join(variant_json(variant) for variant in variants)
    return "{\n" + "\n".join(lines) + '\n  "variants": [\n' + bodies + "\n  ]\n}"


def variant_json(variant):
    """One figure a line, so that a change of one shows as one line."""
    results = ",\n".join(
        f"      {json.dumps(key)}: {json.dumps([short(mean), short(half_width)])}"
        for key, (mean, half_width) in variant["results"].items())
    return (f'    {{\n      "name": {json.dumps(variant["name"])},\n'
            f'      "parameters": {json.dumps(variant["parameters"])},\n'
            f'      "results": {{\n{results}\n      }}\n    }}')


def short(number):
    return None if number is None else float(f"{number:.6g}")


def package_version():
    try:
        query = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "ns2"],
                               capture_output=True, text=True, timeout=10)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    return f"Debian ns2 {query.stdout}" if query.returncode == 0 else None


if __name__ == "__main__":
    main()
