"""Wrong arguments raise `InputError` with what was found and what is allowed; plain ones are taken in each usual form."""

import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import shortflow as sf

CLOSED = ThreadPoolExecutor(1)
CLOSED.shutdown()
ROW = [{"parameters.load": 0.5}]


def sweep(line: sf.Scenario, fifo: sf.Policy, design: object = ROW, **options: object) -> sf.Sweep:
    """A sweep of one run."""
    return sf.Sweep(line, design, **{"policy": fifo, "replicas": 1, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replicas": 1.5}, "replicas = 1.5: give a whole number, or the numbers"),
        ({"replicas": "2"}, "replicas = '2'"),
        ({"replicas": [-1]}, "replicas = -1: use a whole number from 0"),
        ({"replicas": 0}, "replicas = 0: use a whole number from 1"),
        ({"seed": 1.5}, "seed = 1.5"),
        ({"jobs": "2"}, "jobs = '2': use a whole number from 1 to 65535"),
        ({"jobs": 0}, "jobs = 0"),
        ({"set": "duration=12 s"}, "set = 'duration=12 s': give a dictionary"),
        ({"set": [("duration", "3 s")]}, "give a dictionary"),
        ({"set": {3: "1"}}, "the key 3 is not text"),
        ({"bind": [3]}, "bind: 3 is not text"),
        ({"bind": 3}, "bind: 3 is not text"),
        ({"out": 3}, "out = 3: give a path"),
        ({"out": ""}, "out = '': give a path"),
    ],
)
def test_wrong_arguments_of_runs_are_named(line: sf.Scenario, fifo: sf.Policy, options: dict[str, object], message: str) -> None:
    with pytest.raises(sf.InputError, match=message):
        sf.simulate(line, fifo, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sf.Design.grid({"duration": 3}), "the key `duration` of a grid is 3: give a list"),
        (lambda: sf.Design.grid({"duration": "12 s"}), "the key `duration` of a grid is '12 s': give a list"),
        (lambda: sf.Design.grid(3), "give each key a list"),
        (lambda: sf.Design(None), "a design is None: give a list"),
        (lambda: sf.Design(["a"]), "row 0 of the design is 'a': give a dictionary"),
        (lambda: sf.Design([{3: 1}]), "the key 3 is not text"),
        (lambda: sf.Design([{"policy": None}]), "policy = None: give a policy"),
        (lambda: sf.Design.from_frame(3), "cannot read a int as a data frame"),
        (lambda: sf.Design.from_csv(None), "path = None"),
        (lambda: sf.Policy(3), "3 is not the text of a policy"),
        (lambda: sf.open(3), "folder = 3"),
        (lambda: sf.check(3), "3 is not a policy or a scenario"),
        (lambda: sf.verify("r", share="1"), "share = '1'"),
        (lambda: sf.verify("r", jobs=0), "jobs = 0"),
        (lambda: sf.compare("office", 3), "give a list of policies"),
    ],
)
def test_wrong_arguments_of_others_are_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(sf.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "foo", "out": "xx"}, "give threads, processes"),
        ({"executor": object}, "which is no executor of concurrent.futures"),
        ({"executor": CLOSED}, "takes no work: cannot schedule new futures after shutdown"),
        ({"out": ""}, "out = ''"),
        ({"jobs": 1.5}, "jobs = 1.5"),
        ({"runs_per_chunk": "1"}, "runs_per_chunk = '1'"),
    ],
)
def test_wrong_ways_to_run_a_sweep_are_named(
    here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy, options: dict[str, object], message: str
) -> None:
    with pytest.raises(sf.InputError, match=message):
        sweep(line, fifo).run(**options)
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("design", "options", "message"),
    [
        ([{"seed": 1}, {"seed": 2}], {}, "give seed=… of Sweep"),
        ([{"replicas": 1}], {}, "give replicas=… of Sweep"),
        (ROW, {"set": {"seed": 3}}, "give seed=… of Sweep"),
        (ROW, {"collect": [3]}, "collect: 3 is not text"),
        ([{"sweep.parameters.load": [1]}], {}, r"has a \[sweep\] of its own"),
    ],
)
def test_what_a_sweep_decides_is_refused(
    line: sf.Scenario, fifo: sf.Policy, design: list[dict[str, object]], options: dict[str, object], message: str
) -> None:
    with pytest.raises(sf.InputError, match=message):
        sweep(line, fifo, design, **options)


def test_a_scenario_with_a_sweep_is_refused(line: sf.Scenario, fifo: sf.Policy) -> None:
    swept = sf.Scenario(line.to_toml() + '\n[sweep]\n"parameters.load" = [0.5, 1]\n', "line.toml")
    with pytest.raises(sf.InputError, match=r"line.toml has a \[sweep\] of its own"):
        sweep(swept, fifo)


def test_plain_arguments_have_several_forms(line: sf.Scenario, fifo: sf.Policy) -> None:
    two = sf.simulate(line, fifo, replicas=2).replicas.to_arrow()
    for replicas in (numpy.int64(2), range(2), numpy.arange(2), (one for one in range(2))):
        assert sf.simulate(line, fifo, replicas=replicas).replicas.to_arrow().equals(two)
    assert len(sf.compare(line, (policy for policy in (fifo, "fq-codel")), replicas=1).labels) == 2
    assert sf.compare(line, [fifo, "fq-codel"], engines="predict").labels
    bound = sf.simulate(line, fifo, replicas=1, bind="core=r1->server")
    assert len(set(bound.replicas["port"].drop_null().to_pylist())) == 2
    assert sweep(line, fifo, replicas=numpy.int64(2), collect="replicas").run().targets("completion").shape == (2, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1;2\n", "d.csv:1: the header has semicolons\nseparate keys and values by commas"),
        ("a b\n1\n", "d.csv:1: the key `a b` has blanks"),
        ("a,\n1,2\n", "a key in the header is empty"),
        ("policy,a\n,1\n", "d.csv:2: `policy` is empty"),
        ("a\n\udcff\n", "cannot read d.csv: .* can't decode byte 0xff"),
    ],
)
def test_wrong_designs_in_files_are_named(here: pathlib.Path, text: str, message: str) -> None:
    pathlib.Path("d.csv").write_text(text, errors="surrogateescape")
    with pytest.raises(sf.InputError, match=message):
        sf.Design.from_csv("d.csv")


def test_a_design_of_a_spreadsheet_is_read(here: pathlib.Path) -> None:
    pathlib.Path("d.csv").write_text("\ufeffa, b ,c,d,e\n1, 2.5e-1 ,1_0,True,FALSE\n", encoding="utf-8")
    assert sf.Design.from_csv("d.csv").points == [{"a": 1, "b": 0.25, "c": "1_0", "d": True, "e": False}]


def test_workers_end_with_the_process_that_made_them(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    line.write("line.toml")
    fifo.write("fifo.toml")
    pathlib.Path("run.py").write_text(
        "import shortflow as sf\n"
        "if __name__ == '__main__':\n"
        "    design = [{'duration': '100000 s'}, {'duration': '100001 s'}]\n"
        "    sf.Sweep('line.toml', design, policy='fifo.toml', replicas=1).run(executor='processes', jobs=2)\n"
    )
    process = subprocess.Popen([sys.executable, "run.py"], start_new_session=True)
    try:
        wait_until(lambda: len(of_session(process.pid)) >= 4)
        process.kill()
        process.wait()
        wait_until(lambda: not of_session(process.pid))
    finally:
        for one in of_session(process.pid):
            os.kill(one, signal.SIGKILL)


def of_session(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait up to half a minute."""
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.05)
