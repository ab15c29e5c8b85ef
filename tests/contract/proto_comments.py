"""Declarations of the protos with their comments, for the API reference."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

PROTOS: Final = Path(__file__).parents[2] / "protos" / "tenure" / "v1"
_BLOCK: Final = re.compile(r"(message|enum|service|oneof) (\w+) \{(\})?$")
_RPC: Final = re.compile(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);$")
_FIELD: Final = re.compile(r"(?:(optional|repeated) )?(map<[\w., ]+>|[\w.]+) (\w+) = (\d+);$")
_VALUE: Final = re.compile(r"(\w+) = (\d+);$")
_IGNORED: Final = ("syntax ", "package ", "import ", "option ")


class Member(NamedTuple):
    """A field, an enum value or an rpc."""

    name: str
    type: str
    """Type of a field with its label; `REQUEST → RESPONSE` of an RPC; empty for enum values."""
    number: str
    comment: tuple[str, ...]
    oneof: str = ""


class Declaration(NamedTuple):
    """A message, an enum or a service, and the file that declares it."""

    kind: str
    name: str
    file: str
    comment: tuple[str, ...]
    members: list[Member]


def parse(path: Path) -> list[Declaration]:
    """Return the declarations of a file in order. Raises ValueError for an unsupported line."""
    found: list[Declaration] = []
    scopes: list[tuple[str, str]] = []
    comment: list[str] = []
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = raw.strip()
        if line.startswith("//"):
            comment.append(line[2:].removeprefix(" "))
            continue
        text, comment = tuple(comment), []
        if not line or line.startswith(_IGNORED):
            continue
        if line == "}":
            scopes.pop()
        elif match := _BLOCK.match(line):
            kind, name, closed = match.groups()
            if kind != "oneof":
                found.append(Declaration(kind, name, path.name, text, []))
            if not closed:
                scopes.append((kind, name))
        else:
            kind, name = scopes[-1] if scopes else ("", "")
            found[-1].members.append(
                _member(line, text, name if kind == "oneof" else "", f"{path.name}:{number}")
            )
    return found


def all_declarations() -> Iterator[Declaration]:
    """The declarations of all files, the service first."""
    paths = sorted(PROTOS.glob("*.proto"), key=lambda path: (path.stem != "decision_service", path.stem))
    for path in paths:
        yield from parse(path)


def _member(line: str, comment: Sequence[str], oneof: str, place: str) -> Member:
    if match := _RPC.match(line):
        name, sends, request, gets, response = match.groups()
        return Member(name, f"{sends or ''}{request} → {gets or ''}{response}", "", tuple(comment))
    if match := _FIELD.match(line):
        label, kind, name, number = match.groups()
        return Member(name, f"{label} {kind}" if label else kind, number, tuple(comment), oneof)
    if match := _VALUE.match(line):
        return Member(match.group(1), "", match.group(2), tuple(comment))
    raise ValueError(f"{place}: {line!r} is no declaration that is known here")
