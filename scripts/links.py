"""The links between the pages of this repository, and from them to its other files.

    python scripts/links.py                     checks them: dead ones are listed, and end with 1
    python scripts/links.py --gather FOLDER     copies the site's pages and the files they link to
    python scripts/links.py --built FOLDER      checks the links of the HTML pages in a folder

Pages are Markdown and notebooks; links to other hosts are left alone.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "benchmarks/README.md", "kernels_cache/README.md", "docs/*.md")
NOTEBOOKS = "notebooks/**/*.ipynb"

_FENCED = re.compile(r"^( *)(```+|~~~+).*?^\1\2[`~]* *$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINKS = re.compile(
    r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)"  # [text](target), ![picture](target "title")
    r"|^ {0,3}\[[^\]]+\]:\s*(\S+)"  # [label]: target
    r"|\b(?:href|src)=\"([^\"]+)\"",  # HTML
    re.MULTILINE,
)


def pages(root: Path = ROOT) -> list[Path]:
    """Every page, in a fixed order."""
    found = [path for pattern in (*PAGES, NOTEBOOKS) for path in sorted(root.glob(pattern))]
    return [path for path in found if ".ipynb_checkpoints" not in path.parts]


def prose(path: Path) -> str:
    """The Markdown of a page without its blocks of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return _FENCED.sub("", text)


def links(path: Path) -> list[str]:
    """The targets of a page's links that lead into the repository."""
    found = ("".join(match.groups("")) for match in _LINKS.finditer(_CODE.sub("", prose(path))))
    return [link for link in found if is_local(link)]


def is_local(link: str) -> bool:
    """Whether a link has neither a scheme nor a host."""
    parts = urlsplit(link)
    return not parts.scheme and not parts.netloc


def anchors(path: Path) -> set[str]:
    """What headings of a page can be linked to as, by GitHub's rule."""
    times: dict[str, int] = {}
    found = set()
    for heading in re.findall(r"^#{1,6} +(.*?) *#*$", prose(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        again = times.get(slug, 0)
        times[slug] = again + 1
        found.add(f"{slug}-{again}" if again else slug)
    return found


def dead(root: Path = ROOT) -> list[str]:
    """A line for each link that leads to no file, or to no heading of its page."""
    problems = []
    for page in pages(root):
        for link in links(page):
            parts = urlsplit(link)
            target = page.parent / unquote(parts.path) if parts.path else page
            if not target.exists() or not target.resolve().is_relative_to(root.resolve()):
                problems.append(f"{page.relative_to(root)}: {link}: there is no such file")
            elif parts.fragment and parts.fragment not in anchors(target):
                problems.append(f"{page.relative_to(root)}: {link}: there is no such heading")
    return problems


def gather(folder: Path, root: Path = ROOT) -> None:
    """Copies the pages into `folder`, each to its place, and the files that they link to."""
    wanted = dict.fromkeys(pages(root))
    for page in list(wanted):
        for link in links(page):
            target = page.parent / unquote(urlsplit(link).path)
            if target.is_file():
                wanted[target.resolve()] = None
    for path in wanted:
        place = folder / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


class _Html(HTMLParser):
    """The links of an HTML page, and what in it can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.links.add(value)
            elif value and name in ("id", "name"):
                self.anchors.add(value)


def dead_in_html(folder: Path) -> Iterator[str]:
    """A line for each link of a page in `folder` that leads nowhere."""
    read = {path.resolve(): _Html(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in read.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if not is_local(link) or not parts.path + parts.fragment:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.relative_to(folder.resolve())}: {link}: there is no such file"
            elif target in read and unquote(parts.fragment) not in {*read[target].anchors, ""}:
                yield f"{path.relative_to(folder.resolve())}: {link}: there is no such place"


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--gather":
        gather(Path(sys.argv[2]))
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "--built":
        problems = list(dead_in_html(Path(sys.argv[2])))
    elif len(sys.argv) == 1:
        problems = dead()
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
