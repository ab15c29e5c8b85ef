"""The commands of pages run, in order, with small inputs."""

import re
import time
import urllib.request
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Final
from urllib.error import HTTPError

import pytest
from _pytest.mark import ParameterSet

from tests.kubernetes.environment.binaries import required_go
from tests.repository.pages import ROOT
from tests.repository.played_pages import MEASUREMENTS, NEED_GO, PLAYED, smaller
from tests.repository.reader import Reader, reader_in
from tests.repository.snippets import PROOFS, RUN, SHELL, commands, snippets

SNIPPETS: Final = snippets()
_QUICK: Final = "docs/use/console.md"
"""The page whose commands are run with the ordinary tests."""


_OF_MINUTES: Final = (
    "CONTRIBUTING.md",
    "docs/integrate/compatibility.md",
    "docs/internals/search.md",
    "docs/internals/testing.md",
    "docs/operate/sizing.md",
    "docs/use/play.md",
    "docs/use/policies.md",
)
"""Pages whose commands are not run for every change."""


def with_mark(page: str) -> "ParameterSet | str":
    if page == _QUICK:
        return page
    marks = [pytest.mark.kube if page in NEED_GO else pytest.mark.long]
    return pytest.param(page, marks=[*marks, pytest.mark.thorough] if page in _OF_MINUTES else marks)


def lines_of(page: str) -> list[str]:
    """Commands of the blocks of a page that are run."""
    languages = [language for language, proof in PROOFS[page].items() if proof == RUN and language in SHELL]
    blocks = [each for each in SNIPPETS if each.page == page and each.language in languages]
    return [line for block in blocks for line in commands(block)]


def is_elsewhere(page: str, line: str) -> bool:
    return line.startswith(tuple(PLAYED[page].elsewhere))


def write_files(reader: Reader, page: str) -> None:
    """Files that the page shows, smaller; `# name` is in their first line."""
    blocks = [each.text for each in SNIPPETS if each.page == page and each.language == "yaml"]
    for text in (text for text in blocks if text.startswith("# ")):
        file = reader.folder / re.split(r"[#\s]+", text)[1]
        file.write_text(smaller(text))


def wait_for_page(address: str) -> None:
    """Wait until the console has seen a cluster and shows it."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(HTTPError), urllib.request.urlopen(address) as answer:  # 503 until then
            assert answer.status == 200
            return
        time.sleep(0.2)
    pytest.fail("the console shows no cluster")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", [with_mark(page) for page in PLAYED])
def test_commands_of_the_page_run(page: str, tmp_path: Path) -> None:
    if page in NEED_GO:
        required_go()
    with reader_in(tmp_path) as reader:
        for prepare in PLAYED[page].prepare:
            prepare(reader)
        write_files(reader, page)
        for shown in (line for line in lines_of(page) if not is_elsewhere(page, line)):
            line = reduce(lambda done, change: re.sub(*change, done), PLAYED[page].shorter.items(), shown)
            told = reader.enter(line, may_fail=line.startswith(MEASUREMENTS))
            if line.startswith("tenure"):
                assert told
            if line.startswith("tenure console"):
                wait_for_page(told.split()[-1])
            report = re.search(r"--report (\S+)", line)
            assert report is None or (tmp_path / report[1]).exists()


def test_pages_with_this_proof_are_those_that_are_played() -> None:
    assert PLAYED.keys() == {page for page, proofs in PROOFS.items() if RUN in proofs.values()}
    assert [page for page in PLAYED if all(is_elsewhere(page, line) for line in lines_of(page))] == []


def test_what_is_run_elsewhere_is_on_the_page_and_what_runs_it_exists() -> None:
    for page, played in PLAYED.items():
        unused = [
            begin for begin in played.elsewhere if not any(line.startswith(begin) for line in lines_of(page))
        ]
        assert (page, unused) == (page, [])
        named = re.findall(r"tests/[\w/.]+", " ".join(played.elsewhere.values()))
        assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PLAYED)
def test_what_is_shortened_is_on_the_page(page: str) -> None:
    lines = lines_of(page)
    assert [each for each in PLAYED[page].shorter if not any(re.search(each, line) for line in lines)] == []
