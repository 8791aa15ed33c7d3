"""What an author of a repository, or of its verdicts, can get out of an agent."""

import os
import shutil

from harness import Bench, inputs

SECRET = "root:$6$TOP-SECRET:19000:0:99999:7:::\n"


def attack(bench: Bench) -> None:
    secret = bench.outside / "file"
    for way in ["link", "hard link", "link to a folder", "pipe", "device"]:
        folder = inputs(bench.work)["fleet"]
        policy = folder / "policies/a.toml"
        hidden = bench.home / "shadow"
        hidden.write_text(SECRET)
        if way == "link":
            policy.unlink()
            policy.symlink_to(hidden)
        elif way == "hard link":
            policy.unlink()
            os.link(hidden, policy)
        elif way == "link to a folder":
            shutil.rmtree(folder / "policies")
            (bench.home / "policies").mkdir(exist_ok=True)
            (bench.home / "policies/a.toml").write_text(SECRET)
            (folder / "policies").symlink_to(bench.home / "policies")
        elif way == "pipe":
            policy.unlink()
            os.mkfifo(policy)
        else:
            policy.unlink()
            policy.symlink_to("/dev/zero")
        done = bench.run(["agent", "plan", folder], f"repository: a policy that is a {way}")
        if b"TOP-SECRET" in done.stdout + done.stderr:
            bench.finding(f"repository: a line of another file is quoted through a {way}")
        if done.returncode != 2:
            bench.finding(f"repository: a policy that is a {way}: exit code {done.returncode}")
        shutil.rmtree(folder)
    assert secret.exists()
