"""The tables of errors in docs/reference/errors.md and in the comments of the service."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import grpc

ROOT: Final = Path(__file__).parents[2]
PROTOS: Final = ROOT / "protos"
PAGE: Final = ROOT / "docs" / "reference" / "errors.md"
_CODES: Final = frozenset(code.name for code in grpc.StatusCode)
_TABLES: Final = ("| status |", "| method | status |")


def read_page() -> tuple[set[str], dict[str, set[str]]]:
    """Return the common codes of all methods and the codes of each method, from the page."""
    text = PAGE.read_text()
    common, own = (list(_rows(text, head)) for head in _TABLES)
    of_methods: dict[str, set[str]] = defaultdict(set)
    for method, code, *_ in own:
        of_methods[method] |= {code} - {""}
    return {code for code, *_ in common}, dict(of_methods)


def read_comments() -> tuple[set[str], dict[str, set[str]]]:
    """Return the same codes from the comments of the service."""
    lines = (PROTOS / "tenure" / "v1" / "decision_service.proto").read_text().splitlines()
    common: set[str] = set()
    own: dict[str, set[str]] = {}
    met: set[str] = set()
    for line in lines:
        if match := re.match(r"\s*//   ([A-Z_]+)\s", line):
            met.add(match.group(1))
        elif line.startswith("service "):
            common, met = met, set()
        elif match := re.match(r"\s+rpc (\w+)\(", line):
            own[match.group(1)], met = met, set()
    return common & _CODES, {method: codes & _CODES for method, codes in own.items()}


def state_error_codes() -> set[str]:
    """Return the state errors on the page."""
    return {code for code, *_ in _rows(PAGE.read_text(), "| `StateErrorCode` |")}


def _rows(text: str, head: str) -> Iterator[list[str]]:
    """Return the cells of the table with this header, without the code marks of the first two columns."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip().strip("`") for cell in line.strip("|").split("|")]
