"""Runs: simulate, predict, compare, check."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _arguments as arguments
from . import _core
from ._arguments import texts
from ._errors import InputError
from ._progress import Progress, Show
from ._results import Results
from ._text import Checked, Path, Policy, Scenario, Settings, as_settings, case

AnyPolicy = Policy | Path | Mapping[str, Any]
AnyScenario = Scenario | Path | Mapping[str, Any]


def simulate(
    scenario: AnyScenario,
    policy: AnyPolicy | None = None,
    *,
    replicas: int | Iterable[int] | None = None,
    seed: int | None = None,
    set: Settings | None = None,
    bind: str | Sequence[str] = (),
    jobs: int | None = None,
    transfers: bool = True,
    out: Path | None = None,
    force: bool = False,
    progress: bool | Show | None = None,
) -> Results:
    """Simulate every packet of a scenario.

    Parameters
    ----------
    scenario
        A scenario, the path of a file, or a shipped name.
    policy
        The policy; without, that of the scenario.
    replicas
        How many replicas, or the numbers of those that run; without, as the scenario says.
    seed
        The seed; without, that of the scenario.
    set
        Keys that are set, as with ``--set``; a key of the policy begins with ``policy.``.
    bind
        Further bindings, as with ``--bind``: ``"core=east->west"``.
    jobs
        Replicas in parallel; without, one per core.
    transfers
        Whether single transfers are kept.
    out
        A folder for results and a report; without, nothing is written.
    force
        Write into the folder even if it contains other files.
    progress
        Whether progress is shown; without, in notebooks and terminals.

    Returns
    -------
    Results
        The same bits as those of ``shortflow simulate``.

    Raises
    ------
    ScenarioError, PolicyError, InputError
        If the input is wrong, with file, line and column.
    MachineError
        If the machine lacks memory or room.
    """
    replicas = arguments.replicas(replicas)
    given = _settings(set, seed, replicas)
    found = case(scenario, policy, given, bind)
    return _run([found], [""], ["simulate"], _numbers(replicas), jobs, transfers, out, force, progress, "simulate")


def predict(
    scenario: AnyScenario,
    policy: AnyPolicy | None = None,
    *,
    set: Settings | None = None,
    bind: str | Sequence[str] = (),
    out: Path | None = None,
    force: bool = False,
) -> Results:
    """Compute means by closed forms, or bounds with the reason.

    Parameters are those of :func:`simulate`.
    """
    as_settings(set)
    found = case(scenario, policy, {"replicas": 1, **(set or {})}, bind)
    return _run([found], [""], ["predict"], None, None, False, out, force, False, "predict")


def compare(
    scenario: AnyScenario,
    policies: Iterable[AnyPolicy],
    *,
    engines: str | Sequence[str] = ("simulate",),
    replicas: int | Iterable[int] | None = None,
    seed: int | None = None,
    set: Settings | None = None,
    bind: str | Sequence[str] = (),
    jobs: int | None = None,
    transfers: bool = True,
    out: Path | None = None,
    force: bool = False,
    progress: bool | Show | None = None,
) -> Results:
    """Run a scenario under several policies, with the same arrivals.

    Parameters
    ----------
    policies
        The policies, the reference first.
    engines
        ``"simulate"``, ``"predict"``, or both.

    Others are those of :func:`simulate`.
    """
    if isinstance(policies, (str, os.PathLike, Mapping)) or not isinstance(policies, Iterable):
        raise InputError("policies: give a list of policies")
    chosen, policies = texts("engines", engines), list(policies)
    if not policies:
        raise InputError("policies: give a list of policies")
    if len(policies) < 2 and len(chosen) < 2:
        raise InputError("there is only one engine and one policy\ngive several policies, or several engines")
    replicas = arguments.replicas(replicas)
    given = _settings(set, seed, replicas)
    where, all_policies = Scenario.of(scenario), [Policy.of(policy) for policy in policies]
    twice = [one for at, one in enumerate(all_policies) if one in all_policies[:at]]
    if twice:
        raise InputError(f"the policy {twice[0].file} is given twice")
    cases = [case(where, policy, given, bind) for policy in all_policies]
    places = [policy.file for policy in all_policies]
    return _run(cases, places, chosen, _numbers(replicas), jobs, transfers, out, force, progress, "compare")


def check(
    what: Policy | Scenario | Path,
    policy: AnyPolicy | None = None,
    *,
    set: Settings | None = None,
) -> Checked | Policy:
    """Check a policy or a scenario, and return it checked.

    Parameters
    ----------
    what
        A policy, a scenario, or the path of a file of either kind.
    policy
        The policy of a scenario, instead of its own.
    set
        Keys of the scenario that are set.

    Raises
    ------
    ScenarioError, PolicyError, InputError
        With all mistakes as ``findings``.
    """
    if isinstance(what, (str, os.PathLike)):
        name, text = _core.read(os.fspath(what), "any")
        what = Policy(text, name) if _core.kind(name, text) == "policy" else Scenario(text, name)
    if isinstance(what, Scenario):
        return what.check(policy, set=set)
    if not isinstance(what, Policy):
        raise InputError(f"{what!r} is not a policy or a scenario: give an object, or the path of a file")
    if policy is not None or set:
        raise InputError("`policy` and `set` change scenarios, and only a policy is checked")
    return what


def _settings(set: Settings | None, seed: int | None, replicas: int | list[int] | None) -> dict[str, Any]:
    """All settings; one that is given twice is refused."""
    as_settings(set)
    given = dict(set or {})
    for key, value in (("seed", seed), ("replicas", replicas if isinstance(replicas, int) else None)):
        if value is None:
            continue
        if key in given:
            raise InputError(f"`{key}` is given twice: as an argument and in `set`\nremove one of the two")
        given[key] = arguments.whole(key, value, 0)
    return given


def _numbers(replicas: list[int] | int | None) -> list[int] | None:
    return replicas if isinstance(replicas, list) else None


def _run(
    cases: list[_core.Case],
    places: list[str],
    engines: list[str],
    replicas: list[int] | None,
    jobs: int | None,
    transfers: bool,
    out: Path | None,
    force: bool,
    progress: bool | Show | None,
    command: str,
) -> Results:
    how = {
        "engines": engines,
        "places": places,
        "replicas": replicas,
        "jobs": arguments.jobs(jobs) or 0,
        "transfers": transfers,
        "out": None if out is None else arguments.path("out", out),
        "force": force,
        "command": f"shortflow.{command}",
    }
    with Progress(progress) as show:
        return Results(_core.run(cases, how, progress=show))
