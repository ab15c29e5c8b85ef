"""The check `docs`: the documentation builds as a site, strictly, and nothing of it comes from other hosts.

The build fails for broken links and orphans; the check proves it on a copy with one of each.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.checks import Counts
from tests.repository.pages import ROOT
from tests.supply_chain.command import BIN

_SEARCHES: Final = {
    "min_runtime": "reference/",
    "helm upgrade": "operate/install.html",
    "PodGroupOutcome": "reference/api.html",
}
"""Words, and where a page that has them is."""
_FAULTS: Final = {
    "[a](nothing.md)": "nothing.md",
    "[a](../../server/nothing.py)": "nothing.py",
    "[a](../operate/install.md#nothing)": "#nothing",
}
_COPIED: Final = ("docs", "docker", "tests", "server", "client", "protos")


def main() -> Counts:
    """Build the site, look at its pages, and build it again with faults."""
    with TemporaryDirectory() as scratch:
        problems = [*_problems_of_site(Path(scratch)), *_unreported_faults(Path(scratch))]
    for problem in problems:
        print(problem)
    cases = 2 + len(_SEARCHES) + len(_FAULTS)
    return Counts(cases - len(problems), len(problems))


def _build(checkout: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    command = [BIN / "python", checkout / "docker/site/build.py", site]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _problems_of_site(scratch: Path) -> Iterator[str]:
    site = scratch / "site"
    ended = _build(ROOT, site)
    if ended.returncode:
        yield f"make docs fails:\n{ended.stdout}{ended.stderr}"
        return
    (version,) = json.loads((site / "versions.json").read_text())
    pages = site / version["version"]
    foreign = r'<(?:script|link|img)[^>]*(?:src|href)="(https?://[^"]*)"'
    loaded = {url for page in pages.rglob("*.html") for url in re.findall(foreign, page.read_text())}
    if loaded:
        yield f"pages load from other hosts: {sorted(loaded)}"
    index = json.loads((pages / "search/search_index.json").read_text())["docs"]
    for words, place in _SEARCHES.items():
        if not any(words in entry["text"] + entry["title"] and place in entry["location"] for entry in index):
            yield f"the search does not find {words!r} in {place}"


def _unreported_faults(scratch: Path) -> Iterator[str]:
    copy = scratch / "copy"
    for name in _COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for page in ("pyproject.toml", *(path.name for path in ROOT.glob("*.md"))):
        shutil.copy(ROOT / page, copy / page)
    (copy / "docs/use/orphan.md").write_text("# Orphan\n")
    page = copy / "docs/use/explain.md"
    page.write_text("\n".join([page.read_text(), *_FAULTS]))
    ended = _build(copy, scratch / "faulty")
    for fault in (*_FAULTS.values(), "use/orphan.md"):
        if not ended.returncode or fault not in ended.stdout + ended.stderr:
            yield f"make docs accepts {fault}"
