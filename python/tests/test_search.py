"""Searches and studies."""

import json
import os
import pathlib
import subprocess

import pytest

import shortflow as sf

SHORTFLOW = os.environ.get("SHORTFLOW")


def test_a_search_finds_what_the_command_line_finds(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    if SHORTFLOW is None:
        pytest.skip("skipped: needs SHORTFLOW, the program")
    line.set(duration="30 s").write("line.toml")
    fifo.write("fifo.toml")
    goal, policies = "p95:web", ["fifo.toml", "fq-codel"]
    command = [SHORTFLOW, "tune", "line.toml", "--for", goal, "--policies", ",".join(policies), "--json", "-q"]
    theirs = json.loads(subprocess.run(command, check=False, capture_output=True, text=True).stdout)
    ours = sf.tune("line.toml", goal, policies=policies)
    for name in ("goals", "limits", "left_out", "kept", "found"):
        assert ours.to_dict()[name] == theirs[name], name
    assert ours.label == theirs["winner"]["label"] and ours.winner is not None
    assert ours.winner.to_toml().startswith("# Chosen by shortflow.tune:")


def test_a_wrong_goal_is_refused(line: sf.Scenario, fifo: sf.Policy) -> None:
    with pytest.raises(sf.InputError, match="`wep`"):
        sf.tune(line, "p95:wep", policies=[fifo])


def test_a_limit_that_nothing_keeps_is_reported(line: sf.Scenario, fifo: sf.Policy) -> None:
    found = sf.tune(line, "p95:web", keep="web.completion.p95 <= 1 ms", policies=[fifo])
    assert not found.is_kept and found.winner is None


def test_an_unknown_study_is_named() -> None:
    with pytest.raises(sf.InputError, match='unknown study "cm5"'):
        sf.reproduce("cm5")
