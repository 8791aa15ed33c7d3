"""Tries every policy on one kernel."""

import shutil
import time
from pathlib import Path

from machines import IN_REAL_TIME, Kernel, Lacking, add_program, boot, pack

HERE = Path(__file__).resolve().parent
# Policies that are tried with more traffic than the line sends.
LOADED = ("wred", "exact", "three-priority-red", "sima")
# Policies that are tried inline where the others are not.
SHORT_INLINE = ("aggregate", "shared-priority", "wfq")
# The longest that a machine may take, in seconds.
PATIENCE = 3000


def run_trial(kernel: Kernel, shortflow: Path, root: Path, cache: Path, *, short: bool, verbose: bool) -> list[dict]:
    """Boots a kernel, and returns what the guest reports."""

    def fill(guest: Path) -> None:
        add_program(shortflow, guest, "usr/bin/shortflow")
        shutil.copytree(root / "policies", guest / "root/policies")
        shutil.copytree(HERE / "policies", guest / "root/loaded")

    initramfs, log = cache / f"{kernel.suite}.cpio.gz", cache / f"{kernel.suite}.log"
    pack(kernel, initramfs, HERE / "init.sh", fill)
    results, begun = [], time.monotonic()
    append = f"short_inline={','.join(SHORT_INLINE)}" if short else ""
    for line in boot(kernel, initramfs, log, IN_REAL_TIME, append=append, patience=PATIENCE):
        if verbose:
            print(line)
        # The firmware's last control characters stand before the first line.
        if (at := line.find("RESULT ")) >= 0:
            results.append(result(line[at:]))
    # Each policy is tried at two roles natively, and inline, or at one and few inline; one is killed while it comes.
    policies = len(list((root / "policies").glob("*.toml")))
    expected = (policies + len(SHORT_INLINE) if short else 3 * policies) + len(LOADED) + 1
    if len(results) != expected:
        raise Lacking(f"Linux {kernel.version} reported {len(results)} of {expected} results; its console is in {log}")
    print(f"  {len(results)} results in {time.monotonic() - begun:.0f} s")
    return results


def result(line: str) -> dict:
    """A line such as `RESULT strict-priority|core|native|works|what happened`."""
    policy, role, way, state, what = line.removeprefix("RESULT ").split("|", 4)
    return {"policy": policy, "role": role, "way": way, "state": state, "what": what}
