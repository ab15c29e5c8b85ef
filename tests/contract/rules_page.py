"""docs/reference/semantics.md as data: one rule per number, and the files that cite the numbers."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
CONTRACT: Final = Path(__file__).parent
PAGE: Final = ROOT / "docs" / "reference" / "semantics.md"
CITING: Final = ("server", "client", "protos", "tests", "docs")
"""Folders whose files may cite only rules of the page."""
NOT_IMPLEMENTED: Final = "*Not implemented:*"
_SUFFIXES: Final = frozenset((".go", ".md", ".proto", ".py", ".toml", ".yaml", ".yml"))
_RULE: Final = re.compile(r'^- <a id="r(\d+)-(\d+)"></a>\*\*R(\d+)\.(\d+)\*\* (\S.*)$')
_LINK: Final = re.compile(r"\]\(#(r\d+-\d+)\)")
_CITED: Final = re.compile(r"\bR\d+\.\d+[a-z]?\b")
_IN_NAME: Final = re.compile(r"_r(\d+)_(\d+)(?![0-9])")


class Rule(NamedTuple):
    """One rule: chapter, number within the chapter, anchor and text."""

    chapter: int
    number: int
    anchor: str
    text: str

    @property
    def name(self) -> str:
        """The number as it is cited."""
        return f"R{self.chapter}.{self.number}"

    @property
    def is_implemented(self) -> bool:
        """Whether the rule states what Tenure does, rather than what it does not."""
        return not self.text.startswith(NOT_IMPLEMENTED)


def parse_rules(text: str) -> list[Rule]:
    """All rules of the page, in order. Raises ValueError for a list item of a rule in another format."""
    rules = []
    for line in text.splitlines():
        if not line.startswith('- <a id="r'):
            continue
        match = _RULE.match(line)
        if match is None:
            raise ValueError(f'{line[:60]!r}: expected - <a id="r1-2"></a>**R1.2** and a text')
        above, below, chapter, number, sentence = match.groups()
        rules.append(Rule(int(chapter), int(number), f"r{above}-{below}", sentence))
    return rules


def parse_links(text: str) -> set[str]:
    """Anchors of rules that the page links to."""
    return set(_LINK.findall(text))


def cited_rules(text: str) -> set[str]:
    """Numbers that a text cites, as R7.30 or in the name of a test that ends with _r7_30."""
    in_names = (f"R{chapter}.{number}" for chapter, number in _IN_NAME.findall(text))
    return {*_CITED.findall(text), *in_names}


def unknown_rules(text: str, rules: Iterable[Rule]) -> list[str]:
    """Numbers that a text cites and that are not among the rules."""
    return sorted(cited_rules(text) - {rule.name for rule in rules})


@cache
def citations() -> dict[Path, frozenset[str]]:
    """Numbers cited by each file that cites any, the page itself excepted."""
    found = {path: frozenset(cited_rules(path.read_text(encoding="utf-8"))) for path in _files()}
    return {path: cited for path, cited in found.items() if cited}


def uncited_rules() -> list[str]:
    """Implemented rules that no test cites, in the order of the page.

    Tests of this folder do not count: they cite numbers as examples.
    """
    tests = [path for path in citations() if path.is_relative_to(ROOT / "tests") and path.suffix == ".py"]
    cited = {name for path in tests if path.parent != CONTRACT for name in citations()[path]}
    rules = parse_rules(PAGE.read_text(encoding="utf-8"))
    return [rule.name for rule in rules if rule.is_implemented and rule.name not in cited]


def _files() -> Iterator[Path]:
    for folder in CITING:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in _SUFFIXES and path != PAGE and path.is_file():
                yield path
