"""Constraints of a job (`--constraint`): which features each of its nodes needs.

a&b, a|b, (a|b)&b    every node needs one of these alternatives
[a|b]                all nodes have the same alternative: the one that most nodes have
a*2&b*1              two nodes need a, another one b
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

Alternatives = tuple[tuple[str, ...], ...]
"""Alternatives; each is the features that a node needs. Empty: any node."""
MAX_ALTERNATIVES: Final = 64
_TOKEN: Final = re.compile(r"\s*([()\[\]&|,]|[\w.+:/-]+(?:\*\d+)?)")
_MARKS: Final = frozenset("()[]&|,")
_COUNTED: Final = re.compile(r"([\w.+:/-]+)\*(\d{1,6})")


class ConstraintError(ValueError):
    """A constraint cannot be read. The message says what to request instead."""


class Constraint(NamedTuple):
    """What the nodes of a job need."""

    every: Alternatives = ()
    """Of every node."""
    counted: tuple[tuple[str, int], ...] = ()
    """Features that a number of nodes need."""


def read_constraint(text: str, nodes_with: Callable[[str], int]) -> Constraint:
    """What a constraint says. `nodes_with` counts the nodes that have a feature. Raises ConstraintError."""
    if not text:
        return Constraint()
    if (counted := _COUNTED.findall(text)) and "|" not in text and "(" not in text:
        plain = tuple(name for name in re.split(r"[&\[\]]", text) if name and "*" not in name)
        return Constraint((plain,) if plain else (), tuple((name, int(count)) for name, count in counted))
    reader = _Reader(text, nodes_with)
    found = reader.read_or()
    if reader.is_left or len(found) > MAX_ALTERNATIVES:
        raise ConstraintError(f"constraint {text!r} is not scheduled here; join features by & or |")
    return Constraint(found)


class _Reader:
    """Reads `or` of `and` of features, groups, and brackets."""

    def __init__(self, text: str, nodes_with: Callable[[str], int]) -> None:
        self._text, self._nodes_with = text, nodes_with
        self._tokens = list(_tokens(text))
        self._position = 0

    @property
    def is_left(self) -> bool:
        """Whether something was not read."""
        return self._position < len(self._tokens)

    def read_or(self) -> Alternatives:
        """Alternatives that are separated by |."""
        found = self._read_and()
        while self._accept("|"):
            found += self._read_and()
        return tuple(dict.fromkeys(found))

    def _read_and(self) -> Alternatives:
        found = self._read_one()
        while self._accept("&") or self._accept(","):
            more = self._read_one()
            if len(found) * len(more) > MAX_ALTERNATIVES:
                raise ConstraintError(f"constraint {self._text!r} has too many alternatives")
            found = tuple(tuple(dict.fromkeys((*one, *two))) for one in found for two in more)
        return found

    def _read_one(self) -> Alternatives:
        if self._accept("("):
            found = self.read_or()
            self._expect(")")
            return found
        if self._accept("["):
            found = self.read_or()
            self._expect("]")
            return (max(found, key=lambda names: (min(map(self._nodes_with, names)), names)),)
        word = self._tokens[self._position] if self.is_left else ""
        if not word or word in _MARKS:
            raise ConstraintError(f"constraint {self._text!r} is not scheduled here; join features by & or |")
        self._position += 1
        return ((word,),)

    def _accept(self, token: str) -> bool:
        if self.is_left and self._tokens[self._position] == token:
            self._position += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise ConstraintError(f"constraint {self._text!r} lacks a {token}")


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or "*" in token[1]:
            raise ConstraintError(f"constraint {text!r} is not scheduled here; join features by & or |")
        yield token[1]
        position = token.end()
