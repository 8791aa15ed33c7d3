"""Writes the generated parts of the documentation, checks it, and builds the site.

    reference          write docs/reference
    reference --check  fail if docs/reference is stale
    examples           run the commands of the documentation, and check its TOML blocks
    site               build the site into target/site

Exit codes: 0 done; 1 a check does not hold; 3 the machine lacks something.
"""

import argparse
import sys
from pathlib import Path

import examples
import reference
import site_pages
from paths import TARGET, Failed


def main() -> int:
    """Runs the command; gives its exit code."""
    parser = argparse.ArgumentParser(prog="docs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["reference", "examples", "site"])
    parser.add_argument("--check", action="store_true", help="of `reference`: write nothing, fail if a page is stale")
    parser.add_argument("--only", metavar="TEXT", help="of `examples`: pages whose path has TEXT")
    parser.add_argument("--shortflow", type=Path, default=TARGET / "release" / "shortflow", metavar="FILE",
                        help="the binary (default: target/release/shortflow)")  # fmt: skip
    arguments = parser.parse_args()
    if arguments.command != "site" and not arguments.shortflow.is_file():
        print(f"error: no binary {arguments.shortflow}: make build", file=sys.stderr)
        return 3
    try:
        run(arguments)
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def run(arguments: argparse.Namespace) -> None:
    shortflow = arguments.shortflow.resolve()
    if arguments.command == "site":
        site_pages.build()
    elif arguments.command == "examples":
        examples.check(shortflow, arguments.only)
    elif arguments.check:
        reference.check(shortflow)
    else:
        reference.write(shortflow)


if __name__ == "__main__":
    sys.exit(main())
