"""Advice about a network that is described in a few words."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from typing import Any

from . import _arguments as arguments
from . import _core
from ._arguments import texts
from ._errors import InputError
from ._progress import Progress, Show
from ._text import Path, Policy, Scenario

MAX_USERS = 1000
MIN_SIZES, MAX_SIZES = 0.1, 10.0


class Advice:
    """Which policy a network should have.

    Attributes
    ----------
    policy : Policy or None
        The advised policy with its settings; ``None`` if the advice is to leave the network as it is, or there is none.
    label : str or None
        What it is called.
    scenario : Scenario
        The network with its assumptions, to be edited, simulated and rehearsed. It names the policy ``winner.toml``.
    keeps_limits : bool
        Whether a policy keeps all limits of calls and similar traffic.
    text : str
        The advice in sentences, with the figures of each use.
    """

    def __init__(self, found: dict[str, Any], text: str, scenario: Scenario, policy: Policy | None) -> None:
        self._found = found
        self.policy, self.scenario, self.text = policy, scenario, text
        self.label: str | None = found["policy"]
        self.keeps_limits: bool = found["keeps_limits"]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``shortflow advise --json`` prints it.

        Returns
        -------
        dict
            The network, the limits, the figures of each use under each policy, and the search.
        """
        return self._found

    def __repr__(self) -> str:
        return self.text


def advise(
    up: str,
    down: str,
    *,
    users: int = 10,
    uses: str | Sequence[str] = (),
    link: str = "ethernet",
    flows: Path | None = None,
    sizes: float = 1.0,
    any: bool = False,
    seed: int | None = None,
    jobs: int | None = None,
    progress: bool | Show | None = None,
) -> Advice:
    """Advise the simplest policy that serves a network best, as ``shortflow advise`` does.

    Parameters
    ----------
    up, down
        The rates of the line towards the provider and from it, such as ``"10 Mbit/s"``.
    users
        How many people use it: 1 to 1000.
    uses
        What they do: ``web``, ``voice``, ``meetings``, ``streaming``, ``games``, ``shell``, ``backup``, ``downloads``. Without, web,
        voice and backup; with ``flows``, voice.
    link
        The kind of line: ``ethernet``, ``fibre``, ``cable``, ``dsl``, ``adsl``, ``vdsl``, ``pppoe``, ``lte`` or ``satellite``.
    flows
        Your own flows: a CSV file with the columns ``start_s``, ``bytes`` and ``direction``, or a packet capture.
    sizes
        Sizes of pages and films as a multiple of the assumed ones: 0.1 to 10.
    any
        Whether policies count that Linux cannot deploy.
    seed
        The seed of all random numbers.
    jobs
        Replicas in parallel; without, one per core.
    progress
        Whether progress is shown; without, in notebooks and terminals.

    Returns
    -------
    Advice
        The policy, the scenario, and the reasons.

    Raises
    ------
    InputError
        If a rate, a use, a kind of line or the file of flows is invalid.

    Examples
    --------
    >>> import shortflow as sf
    >>> advice = sf.advise("2 Mbit/s", "20 Mbit/s", users=3, uses="web,voice")  # doctest: +SKIP
    >>> advice.policy.write("winner.toml")  # doctest: +SKIP
    """
    for name, rate in (("up", up), ("down", down)):
        if not isinstance(rate, str):
            raise InputError(f"{name} = {rate!r}: give a rate, such as '10 Mbit/s'")
    if isinstance(sizes, bool) or not isinstance(sizes, (int, float)) or not MIN_SIZES <= sizes <= MAX_SIZES:
        raise InputError(f"sizes = {sizes!r}: use a number from {MIN_SIZES} to {MAX_SIZES:g}")
    with tempfile.TemporaryDirectory(prefix="shortflow-") as folder, Progress(progress) as show:
        described = {
            "up": up,
            "down": down,
            "users": arguments.whole("users", users, 1, MAX_USERS),
            "uses": texts("uses", uses),
            "link": link,
            "flows": None if flows is None else arguments.path("flows", flows),
            "sizes": float(sizes),
            "any": bool(any),
            "seed": None if seed is None else arguments.whole("seed", seed, 0),
            "jobs": arguments.jobs(jobs) or 0,
            "folder": folder,
        }
        found, text, scenario, policy = _core.advise(described, show)
    return Advice(json.loads(found), text, Scenario(scenario[1], scenario[0]), Policy(policy[1], policy[0]) if policy else None)
