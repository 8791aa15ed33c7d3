"""Another user takes names and locks; devices must still be changeable."""

import os
import socket
import subprocess
import sys

from harness import TOP, Bench, program

POLICY = TOP / "policies/strict-priority.toml"


def attack(bench: Bench) -> None:
    if os.geteuid() != 0:
        return bench.skip("root", "locks of devices")
    inside = [sys.executable, "-B", __file__, str(program())]
    done = subprocess.run(["unshare", "--net", "--mount", *inside], capture_output=True, text=True, timeout=300)
    bench.runs += 4
    if "NO DEVICE" in done.stdout:
        return bench.skip("a kernel with HTB and iproute2", f"locks of devices: {done.stdout}")
    for line in done.stdout.splitlines():
        if line.startswith("FOUND"):
            bench.finding(f"locks: {line}")
    if "DONE" not in done.stdout:
        bench.finding(f"locks: {done.stdout} {done.stderr}")


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=60)


def in_its_namespace() -> None:
    # A folder /run of this namespace's own.
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    deploy = ["deploy", str(POLICY), "--dev", "lo", "--rate", "9 Mbit/s"]
    first = run(*deploy)
    if first.returncode != 0:
        print("NO DEVICE", first.stderr)
        return
    run("undeploy", "--dev", "lo")
    # As cases of a review did: any user may bind these names.
    squatted = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    squatted[0].bind("\0shortflow/deploy/lo")
    squatted[1].bind("\0shortflow/deploy/eth0")
    if run(*deploy).returncode != 0:
        print("FOUND: a name that any user may bind keeps a device from being changed")
    # Another user cannot open the lock, so that it cannot lock it.
    locks = os.listdir("/run/shortflow")
    script = "for f in /run/shortflow /run/shortflow/*; do flock -s -n $f -c true && echo $f; done; mkdir /run/shortflow/x && echo made; touch /run/shortflow/lo.lock && echo touched"
    hold = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", script], capture_output=True, text=True)
    taken = [line for line in hold.stdout.split() if line != "/run/shortflow"]
    if taken:
        print(f"FOUND: another user locks or makes {taken}, beside {locks}")
    if run("undeploy", "--dev", "lo").returncode != 0:
        print("FOUND: a device cannot be undeployed")
    # A folder of somebody else's is not trusted.
    os.rename("/run/shortflow", "/run/away")
    os.mkdir("/run/shortflow")
    os.chown("/run/shortflow", 65534, 65534)
    refused = run(*deploy)
    if refused.returncode != 3 or "belongs to another user" not in refused.stderr:
        print(f"FOUND: locks in a folder of another user's: {refused.returncode} {refused.stderr}")
    print("DONE")


if __name__ == "__main__":
    in_its_namespace()
