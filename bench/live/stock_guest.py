"""Runs in a virtual machine: each policy on a live line of its kernel, in each way. Prints a line of JSON for each, after RESULT.

    python3 -B stock_guest.py TASK.json
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from hosts import Failed, run
from ways import Hosts, Times, deployed, inline, listen

WAYS = {"deployed": deployed, "inline": inline}
SHORTFLOW = Path("/usr/bin/shortflow")


def delay(hosts: Hosts, by: str) -> None:
    """Delays what the reader sends: requests and acknowledgements, which no small queue of the sender's kernel holds back."""
    run(*hosts[1], "tc", "qdisc", "add", "dev", "net", "root", "netem", "limit", "10000", "delay", by)


def main() -> int:
    task = json.loads(Path(sys.argv[1]).read_text())
    times = Times(*task["times"])
    for policy, way in task["runs"]:
        found = {"policy": policy, "way": way}
        try:
            heard = listen(SHORTFLOW, WAYS[way], Path(policy), times, task["pages"], lambda hosts: delay(hosts, task["delay"]))
            found["replicas"] = [asdict(one) for one in heard]
        except Failed as error:
            found["failed"] = str(error)
        print("RESULT " + json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
