"""Searches for a policy, and published studies."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _arguments as arguments
from . import _core
from ._arguments import texts
from ._errors import InputError
from ._progress import Progress, Show
from ._run import AnyPolicy, AnyScenario
from ._text import Path, Policy, Scenario, Settings, as_settings


class Tuned:
    """The result of a search.

    Attributes
    ----------
    winner
        The policy with its settings; ``None`` if nothing was measured, or all candidates break a limit.
    label
        What the winner is called.
    is_kept
        Whether the winner keeps all limits.
    text
        The result in sentences.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found
        winner = found["winner"]
        self.winner = Policy(winner["policy"], "winner.toml") if winner and winner["policy"] else None
        self.label: str | None = winner and winner["label"]
        self.is_kept: bool = found["kept"]
        self.text: str = found["result"]

    def to_dict(self) -> dict[str, Any]:
        """Everything: goals, limits, candidates with their figures, those that were omitted, warnings."""
        return self._found

    def __repr__(self) -> str:
        return self.text


class Ledger:
    """The verdicts on the claims of a study.

    Attributes
    ----------
    claims
        Each claim with its verdict.
    text
        The ledger as text.
    """

    def __init__(self, ledger: dict[str, Any], text: str) -> None:
        self._ledger, self.text = ledger, text
        self.claims: list[dict[str, Any]] = ledger["claims"]

    @property
    def holds(self) -> bool:
        """Whether no claim fails."""
        return all(claim["verdict"] != "fails" for claim in self.claims)

    def to_dict(self) -> dict[str, Any]:
        """Everything."""
        return self._ledger

    def __repr__(self) -> str:
        return self.text


def tune(
    scenario: AnyScenario,
    goals: str | Sequence[str],
    *,
    keep: str | Sequence[str] = (),
    policies: Sequence[AnyPolicy] = (),
    vary: str | Sequence[str] = (),
    replicas: int | None = None,
    seed: int | None = None,
    set: Settings | None = None,
    bind: str | Sequence[str] = (),
    jobs: int | None = None,
    progress: bool | Show | None = None,
) -> Tuned:
    """Search for the policy and settings that serve a scenario best.

    Parameters
    ----------
    scenario
        The scenario.
    goals
        What to optimise, as with ``--for``: ``"p99:pages"``; with two, the first decides.
    keep
        Limits, as with ``--keep``: ``"calls.delay.p99 <= 30 ms"``.
    policies
        The candidates; without, all shipped policies that fit, or with ``vary`` the scenario's own.
    vary
        Keys that are varied, as with ``--vary``: ``"policy.parameters.limit=20..400 pkt"``.
    replicas
        New replicas that confirm the winner, at least 4.

    Others are those of :func:`shortflow.simulate`. Finished replicas are kept in a temporary folder until the end.
    """
    where = Scenario.of(scenario)
    as_settings(set)
    given = dict(set or {})
    for key, value in (("seed", seed), ("replicas", replicas)):
        if value is not None and key in given:
            raise InputError(f"`{key}` is given twice: as an argument and in `set`\nremove one of the two")
        given |= {} if value is None else {key: value}
    named = [Policy.of(policy) for policy in policies]
    with tempfile.TemporaryDirectory(prefix="shortflow-") as folder, Progress(progress) as show:
        wanted = {
            "scenario": (where.file, where.to_toml()),
            "policies": [(policy.file, policy.to_toml()) for policy in named],
            "goals": texts("goals", goals),
            "keep": texts("keep", keep),
            "vary": texts("vary", vary),
            "set": as_settings(given),
            "bind": texts("bind", bind),
            "jobs": arguments.jobs(jobs) or 0,
            "folder": folder,
        }
        return Tuned(json.loads(_core.tune(wanted, show)))


def reproduce(
    study: str,
    *,
    quick: bool = False,
    jobs: int | None = None,
    keep: Path | None = None,
    progress: bool | Show | None = None,
) -> Ledger:
    """Run a published study again, and judge its claims.

    Parameters
    ----------
    study
        The name of a built-in study, or its folder.
    quick
        The short form, whose verdicts may differ.
    keep
        A folder for finished replicas, from which an interrupted study continues; without, a temporary one.
    """
    with tempfile.TemporaryDirectory(prefix="shortflow-") as folder, Progress(progress) as show:
        ledger, text = _core.reproduce(study, os.fspath(keep or folder), quick, arguments.jobs(jobs) or 0, show)
    return Ledger(json.loads(ledger), text)
