"""Faults of a configuration file: each with its path in the file and the fix."""

from collections.abc import Iterable
from typing import NamedTuple


class Problem(NamedTuple):
    """One fault; the path is empty when the whole file is meant."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class ConfigurationError(ValueError):
    """The configuration file cannot be used. Names the file and every fault found in it."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{file}: {problem}" for problem in self.problems))
