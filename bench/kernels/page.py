"""The page that shows which policy runs on which kernel, and how."""

from pathlib import Path

from trial import LOADED

HEAD = """# Which policy runs on which kernel

`make test-kernels` writes this page. It boots the stock kernels of Debian in virtual machines and tries every shipped policy
there: natively ([`deploy`](deploy.md): tc and eBPF) and [inline](inline.md) (our router between two devices). In each case packets of both
versions of IP pass between two network namespaces, with a delay of 5 ms by netem. Natively it also runs `status`, a `reload` and
`undeploy`, after which the device's queues, classes and filters must be as before. Where a BPF qdisc has the queues, 150 packets cross
during the `reload`, and all must arrive. One `deploy` is killed with `kill -9` after 0.2 to 5 seconds: packets must pass all the while, and
`undeploy` must leave the device as before. Inline it kills the router with `kill -9`, after
which the bridge must forward. Policies run without `--nearest`.

Before that, four policies get twice the traffic that their line sends, from the kernel's packet generator, in three streams of
which the first is the best protected; and then less than the line, with a `reload` meanwhile, of which every packet that no queue
drops must arrive.

- *yes*: all of that held. *BPF qdisc*: and our program has the queues, in place of those of the kernel.
- *no*: refused by name, with the reason below the table. Nothing changed on the device.
- *failed*: a check did not hold.
"""


EXPLAINED = """
- [`wred`](../bench/kernels/policies/wred.toml) is `gred`; its levels are counted by the kernel. The generator repeats a packet that
  `gred` drops, so it can be dropped again.
- [`exact`](../bench/kernels/policies/exact.toml) drops whatever finds 21 packets: the queue is never longer, so the program for
  early drops knows its true length.
- `three-priority-red` and `sima` are that program, too. The levels of `sima` are its precedences 0 to 7; the streams have 6, 3 and 0."""


def write_page(page: Path, found: dict) -> None:
    kernels = list(found)
    policies = sorted({result["policy"] for results in found.values() for result in results if result["way"] != "load"})
    ways = [("native", "core"), ("native", "edge,core"), ("inline", "edge,core")]
    lines = [HEAD, "Kernels: " + ", ".join(f"Linux {one.version} ({one.suite})" for one in kernels) + ".\n"]
    head = ["policy", *(f"{kernel.version.split('-')[0]} {name}" for kernel in kernels
                        for name in ("native, core", "native, edge and core", "inline"))]  # fmt: skip
    lines.append(row(head))
    lines.append(row(["---"] * len(head)))
    reasons: dict[str, set[str]] = {}
    for policy in policies:
        cells = [f"`{policy}`"]
        for kernel in kernels:
            for way, role in ways:
                [one] = [result for result in found[kernel]
                         if (result["policy"], result["way"], result["role"]) == (policy, way, role)] or [None]  # fmt: skip
                works = f"yes, {one['what'].strip()}" if one and one["what"].strip() else "yes"
                cells.append({"works": works, "refused": "no", "failed": "**failed**", None: "–"}[one and one["state"]])
                if one and one["state"] != "works":
                    what = one["what"].strip().removeprefix("error: cannot deploy this: ")
                    reasons.setdefault(f"`{policy}`, {way}: {what}", set()).add(kernel.version.split("-")[0])
        lines.append(row(cells))
    killed = [(kernel, result) for kernel in kernels for result in found[kernel] if result["way"] == "killed"]
    for kernel, result in killed:
        said = "held" if result["state"] == "works" else f"did **not** hold: {result['what'].strip()}"
        lines.append(f"\n`deploy` killed, Linux {kernel.version.split('-')[0]}: {said}.")
    lines.append("\n## Under load\n")
    lines.append(row(["policy", *(kernel.version.split("-")[0] for kernel in kernels)]))
    lines.append(row(["---"] * (1 + len(kernels))))
    for policy in LOADED:
        cells = [f"`{policy}`"]
        for kernel in kernels:
            [one] = [result for result in found[kernel] if (result["policy"], result["way"]) == (policy, "load")]
            cells.append({"works": "", "failed": "**failed**: "}[one["state"]] + one["what"].strip())
        lines.append(row(cells))
    lines.append(EXPLAINED)
    lines.append("\n## Reasons\n")
    lines.extend(f"- {reason} ({', '.join(sorted(versions))})" for reason, versions in sorted(reasons.items()))
    page.write_text("\n".join(lines) + "\n")


def row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
