"""Builds the site from the Markdown pages of the repository with MkDocs, into target/site.

The pages are copied with the folders that they have, so that links between them stay as they are. A broken link or
anchor is an error. The site works from disk and makes no network requests.
"""

import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from paths import ROOT, TARGET, Failed

HERE = Path(__file__).parent
WORK = TARGET / "site-build"
SITE = TARGET / "site"
VENV = TARGET / "site-venv"
SHIM = "iframe-worker.js"

# Pages outside docs/ that belong to the site.
PAGES = ("README.md", "docs/**/*.md", "policies/README.md", "scenarios/README.md", "papers/*/*.md", "bench/peers/**/*.md",
         "crates/**/tests/README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md",
         "THIRD-PARTY.md")  # fmt: skip
LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s#]+)(#[^)\s]*)?\)")
# Words of info strings that the tests read and MkDocs does not know.
WORDS = re.compile(r"^( *```\w+)((?: (?:fragment|other|output|fails))+)", re.M)


def build() -> None:
    """Builds the site and prints its path."""
    program = environment()
    stage()
    ended = subprocess.run([program, "-m", "mkdocs", "build", "--strict", "--config-file", WORK / "mkdocs.yml"],
                           env={"PYTHONPATH": str(HERE), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "NO_MKDOCS_2_WARNING": "1"},
                           capture_output=True, text=True)  # fmt: skip
    if ended.returncode != 0:
        raise Failed(f"the site has errors:\n{(ended.stderr + ended.stdout).strip()}")
    replace_shim()
    foreign = sorted(set(network_requests()))
    if foreign:
        raise Failed("the site would make network requests:\n" + "\n".join(foreign))
    print(SITE / "index.html")


def environment() -> Path:
    """The Python of the virtual environment, with the pinned packages."""
    program, wanted = VENV / "bin" / "python", (HERE / "requirements.txt").read_text()
    done = VENV / "requirements.txt"
    if done.is_file() and done.read_text() == wanted:
        return program
    venv.create(VENV, clear=True, with_pip=True)
    ended = subprocess.run([program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary",
                            ":all:", "--requirement", HERE / "requirements.txt"], capture_output=True, text=True)  # fmt: skip
    if ended.returncode != 0:
        raise Failed(f"the packages of the site could not be installed: it needs PyPI or a copy of it\n{ended.stderr.strip()[-800:]}")
    done.write_text(wanted)
    return program


def stage() -> None:
    """Copies the pages and the files to which they link."""
    source = WORK / "source"
    subprocess.run(["rm", "-rf", source, SITE], check=True)
    pages = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    for page in pages:
        copy = source / page.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = page.read_text()
        for linked in linked_files(page, text):
            target = source / linked.relative_to(ROOT)
            if linked not in pages and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(linked.read_bytes())
        copy.write_text(adapted(page, text))
    config = (HERE / "mkdocs.yml").read_text()
    for name, part in (("VALIDATION", validation()), ("STUDIES", studies()), ("CONTRIBUTE", contribute())):
        config = config.replace(f": {name}\n", ":\n" + "".join(f"      - {page}\n" for page in part))
    (WORK / "mkdocs.yml").write_text(config)


def linked_files(page: Path, text: str) -> Iterator[Path]:
    """The files of the repository to which a page links, pictures included."""
    pictures = re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for target in [match[2] for match in LINK.finditer(text)] + pictures:
        path = (page.parent / target).resolve()
        if "://" not in target and path.is_file() and path.is_relative_to(ROOT) and path.suffix != ".md":
            yield path


def adapted(page: Path, text: str) -> str:
    """A page for MkDocs: links to folders, words of info strings, and nested lists differ from those of code forges."""
    parts = re.split(r"(^ *```.*?^ *```$)", text, flags=re.M | re.S)
    for at in range(0, len(parts), 2):
        parts[at] = LINK.sub(lambda match: to_file(page, match), parts[at])
        parts[at] = re.sub(r"^(  +)(?=(?:[-*]|\d+\.) )", lambda match: match[1] * 2, parts[at], flags=re.M)
    return WORDS.sub(r"\1", "".join(parts))


def to_file(page: Path, match: re.Match[str]) -> str:
    """A link to a folder goes to its README; without one, only its text stays."""
    folder = page.parent / match[2]
    if "://" in match[2] or not folder.is_dir():
        return match[0]
    return f"{match[1]}({match[2].rstrip('/')}/README.md)" if (folder / "README.md").is_file() else match[1][1:-1]


def validation() -> list[str]:
    return ["docs/validation.md", "docs/deploy-results.md", "docs/live.md",
            *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/validation").glob("*.md"))),
            *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "bench/peers").rglob("*.md"))),
            *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "crates").glob("**/tests/README.md")))]  # fmt: skip


def studies() -> list[str]:
    return ["docs/papers.md", "docs/claims.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "papers").glob("*/*.md")))]


def contribute() -> list[str]:
    decisions = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs/adr").glob("*.md"), key=lambda path: path.name != "README.md")]
    return ["CONTRIBUTING.md", "ARCHITECTURE.md", "STYLE.md", "docs/style.md", "SECURITY.md", "CHANGELOG.md", "THIRD-PARTY.md", *decisions]


def replace_shim() -> None:
    """Replaces the theme's script for search from disk, which comes from the network, with ours."""
    (SITE / "assets" / SHIM).write_text((HERE / SHIM).read_text())
    for path in SITE.rglob("*.html"):
        base = "../" * (len(path.relative_to(SITE).parts) - 1)
        path.write_text(path.read_text().replace("https://unpkg.com/iframe-worker/shim", f"{base}assets/{SHIM}"))


def network_requests() -> Iterator[str]:
    """What pages of the site would load from elsewhere."""
    for path in sorted(SITE.rglob("*.html")):
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", path.read_text()):
            if re.search(r'(?:src|href|srcset)="?(?:https?:)?//', tag) and 'rel="canonical"' not in tag:
                yield f"{path.relative_to(SITE)}: {tag}"


if __name__ == "__main__":
    sys.exit("run `python3 -B bench/docs site`")
