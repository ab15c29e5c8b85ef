"""Loads cases. A JSON file contains many cases, each with an initial state and an expected result."""

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

FORMAT = "kai-cases"
FORMAT_VERSION = 1


class UnreadableCases(Exception):
    """The folder or a file in it does not contain cases; the message names the file and the error."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `data` is its JSON object, untouched."""

    id: str
    kind: str
    tags: frozenset[str]
    data: Json

    @property
    def group(self) -> str:
        """The line of the report that counts the case: its origin."""
        if self.kind != "scheduling":
            return f"unit: {self.kind}"
        if "random" not in self.tags:
            return "table cases"
        return "random-single" if len(self.data["run"]["actions"]) == 1 else "random-full"


def load_cases(directory: Path) -> list[Case]:
    """Return all cases of all JSON files of the directory, packed ones too, by file name, then in file order.

    Raises UnreadableCases for a missing or empty directory and for a file in another format.
    """
    if not directory.is_dir():
        raise UnreadableCases(f"no case folder at {directory}: name one with --cases DIR")
    files = sorted([*directory.glob("*.json"), *directory.glob("*.json.gz")])
    if not files:
        raise UnreadableCases(f"no *.json files in {directory}: name another folder with --cases DIR")
    return [case for file in files for case in _load_file(file)]


def select(cases: Iterable[Case], tags: Iterable[str] = (), id_part: str = "") -> list[Case]:
    """Return the cases that have every given tag and whose id contains `id_part`."""
    wanted = frozenset(tags)
    return [case for case in cases if wanted <= case.tags and id_part in case.id]


def _load_file(file: Path) -> Iterator[Case]:
    try:
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        content = json.loads(text.decode("utf-8"))
    except (OSError, EOFError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UnreadableCases(f"{file}: cannot be read as JSON: {error}") from error
    found = (content.get("format"), content.get("format_version")) if isinstance(content, dict) else None
    if found != (FORMAT, FORMAT_VERSION):
        raise UnreadableCases(f"{file}: not a file of format {FORMAT!r}, version {FORMAT_VERSION}")
    for data in content["cases"]:
        yield Case(data["id"], data["kind"], frozenset(data["tags"]), data)
