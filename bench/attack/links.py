"""Plants links at every entry of every folder that the program writes; no link's target may change."""

import os
import pathlib
import shutil

from harness import TOP, Bench, inputs


def written(bench: Bench) -> list[tuple[str, list, str]]:
    """The commands, and the folder that each writes."""
    files = inputs(bench.work)
    scenario, policy = files["scenario"], files["policy"]
    short = ["--replicas", "2", "--jobs", "1"]
    ldif = bench.work / "fleet.ldif"
    exported = bench.seed(["agent", "export", files["fleet"], "--base", "ou=a,dc=b"])
    ldif.write_bytes(exported.stdout)
    return [
        ("simulate", ["simulate", scenario, "--policy", policy, *short, "--out", "out", "--force"], "out"),
        ("predict", ["predict", scenario, "--policy", policy, "--out", "out", "--force"], "out"),
        ("compare", ["compare", scenario, "--policies", f"{policy},{TOP / 'policies/red.toml'}", *short, "--out", "out", "--force"], "out"),
        ("report", ["report", "out", "--force"], "out"),
        ("init", ["init", "examples"], "examples"),
        ("man", ["man", "--out", "man"], "man"),
        ("import", ["agent", "import", ldif, "--into", "imported"], "imported"),
        ("trace", ["simulate", scenario, "--replicas", "1", "--out", "out", "--force", "--trace", "out/a.pcapng"], "out"),
    ]


def attack(bench: Bench, is_short: bool) -> None:
    for name, command, folder in written(bench):
        if is_short and name not in ("compare", "report"):
            continue
        target = bench.work / folder
        if name not in ("report",):
            shutil.rmtree(target, ignore_errors=True)
        elif not target.exists():
            continue
        bench.seed(command)
        entries = sorted(path.relative_to(target) for path in target.rglob("*"))
        if not entries:
            bench.finding(f"links: {name} writes nothing")
        pristine = bench.work / "pristine"
        shutil.rmtree(pristine, ignore_errors=True)
        shutil.copytree(target, pristine, symlinks=True)
        for entry in thinned(entries, 6 if is_short else 40):
            plant(bench, target, pristine, entry)
            bench.run(command, f"links: {name} with {entry} a link")
            bench.check_outside(f"links: {name} with {entry} a link")
            clear(bench.work / folder)
        shutil.copytree(pristine, target, symlinks=True, dirs_exist_ok=True)


def thinned(entries: list[pathlib.Path], count: int) -> list[pathlib.Path]:
    """All folders, but only some files."""
    step = max(1, len(entries) // count)
    return [entry for number, entry in enumerate(entries) if number % step == 0 or entry.suffix == ""]


def plant(bench: Bench, target: pathlib.Path, pristine: pathlib.Path, entry: pathlib.Path) -> None:
    clear(target)
    shutil.copytree(pristine, target, symlinks=True)
    place = target / entry
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
        os.symlink(bench.outside / "folder", place)
    else:
        place.unlink()
        os.symlink(bench.outside / "file", place)


def clear(target: pathlib.Path) -> None:
    if target.is_symlink():
        target.unlink()
    shutil.rmtree(target, ignore_errors=True)
