"""Advice: the same as that of the program, with mistakes named."""

import json
import os
import pathlib
import subprocess

import pytest

import shortflow as sf

SHORTFLOW = os.environ.get("SHORTFLOW")
LINE = {"up": "1 Mbit/s", "down": "2 Mbit/s", "users": 2, "uses": "voice,backup", "link": "dsl", "seed": 3}


def test_the_advice_is_that_of_the_program(here: pathlib.Path) -> None:
    if SHORTFLOW is None:
        pytest.skip("skipped: needs SHORTFLOW, the program")
    ours = sf.advise(**LINE)
    options = [word for name, value in LINE.items() for word in (f"--{name}", str(value))]
    command = [SHORTFLOW, "advise", *options, "--json", "--out", "advice"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert ours.to_dict() == json.loads(found.stdout)
    assert ours.policy is not None and ours.policy.to_toml() == pathlib.Path("advice/winner.toml").read_text()
    assert ours.scenario.to_toml() == pathlib.Path("advice/scenario.toml").read_text()
    assert ours.label is not None and ours.text.startswith(f"2 users on 1 Mbit/s up, 2 Mbit/s down (dsl): {ours.label}\n")
    assert repr(ours) == ours.text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"up": 10}, "up = 10: give a rate, such as '10 Mbit/s'"),
        ({"down": "10 Mbit"}, 'down = "10 Mbit": '),
        ({"down": "1 kbit/s"}, "64 kbit/s to 10 Gbit/s"),
        ({"users": 0}, "users = 0: use a whole number from 1 to 1000"),
        ({"uses": ["web", "phone"]}, "unknown use `phone`"),
        ({"link": "copper"}, "unknown link `copper`"),
        ({"sizes": 20}, "sizes = 20: use a number from 0.1 to 10"),
        ({"flows": "missing.csv"}, "cannot read missing.csv: "),
    ],
)
def test_mistakes_are_named(here: pathlib.Path, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(sf.InputError, match=message):
        sf.advise(**{**LINE, **wrong})
