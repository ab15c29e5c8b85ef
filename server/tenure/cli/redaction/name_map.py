"""The names of one snapshot, old and new.

New names in the order of the old ones, between texts that stay what they are.

Every tie in a decision is broken by names, so the order of names must survive.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from tenure.cli.redaction import name_kinds
from tenure.cli.redaction.name_kinds import NameKind
from tenure.codec.annotations import is_readable

_LAST: Final = "~"
"""Comes after every digit: no name with a prefix comes after the prefix and this."""
_FRONTS: Final = ("", "a-", "A-", "!")
"""What a prefix may begin with, the plainest first and the one that is sorted first last."""


class OldName(NamedTuple):
    """A text in the order of its kind; `fixed` is what becomes of it if that is not free to choose."""

    text: str
    fixed: str | None


class NewName(NamedTuple):
    """A name without its number: numbers are given out over all scopes of a kind."""

    prefix: str
    tail: str


def assign_names(kind: NameKind, scopes: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
    """The new name of every text, scope by scope; what is given for a text is what it must become."""
    found = [dict(_free_names(kind, scope)) for scope in scopes]
    width = len(str(sum(map(len, found))))
    number = 0
    result = []
    for scope in found:
        names = {}
        for text, (prefix, tail) in scope.items():
            number += 1
            names[text] = f"{prefix}{number:0{width}}{tail}"
        result.append(names)
    return result


def _free_names(kind: NameKind, scope: Mapping[str, str | None]) -> Iterator[tuple[str, NewName]]:
    """Those that are free to choose, in their order."""
    landmarks: dict[str, str | None] = dict(zip(kind.landmarks, kind.landmarks, strict=True))
    texts = [OldName(*item) for item in sorted({**landmarks, **scope}.items())]
    runs = [(key, list(run)) for key, run in groupby(texts, key=lambda old: (old.fixed, _stem(kind, old)))]
    low = ""
    for at, ((fixed, stem), run) in enumerate(runs):
        if fixed is not None:
            low = fixed
            continue
        prefix = _prefix(kind, stem, low, _bound(stem, *runs[at + 1][0]) if at + 1 < len(runs) else None)
        low = prefix + _LAST
        for old in run:
            yield old.text, NewName(prefix, kind.tail(old.text))


def _stem(kind: NameKind, old: OldName) -> str:
    return kind.stem_of(old.text) if old.fixed is None else ""


def _bound(stem: str, following: str | None, following_stem: str) -> str | None:
    """What the names of a run must stay below; None: nothing, for the next ones can be put after them."""
    if following is not None:
        return following
    return None if stem.startswith(following_stem) else following_stem


def _prefix(kind: NameKind, stem: str, low: str, high: str | None) -> str:
    """The plainest beginning of names that all lie between two texts."""
    fronts = [*(stem + front for front in _FRONTS), f"{low}-", f"{low}!"]
    for front in fronts:
        prefix = f"{front}{kind.word}-"
        below = high is None or prefix + _LAST < high
        if low < prefix and below and kind.stem_of(prefix) == stem:
            return prefix
    raise AssertionError(f"no name fits between {low!r} and {high!r}")


_INTEGER: Final = re.compile(r"-*\d+")
_OPENED: Final = re.compile(r"/gpu-[0-9]+")
"""After the name of a node: a device that a decision opened for sharing."""


class NameMap:
    """Collects names with `note`; after `settle`, `new` gives the name that takes the place of one.

    `compared` are the keys of labels whose values are compared as numbers: these numbers stay.
    """

    def __init__(self, compared: Collection[str]) -> None:
        self._compared = compared
        self._spelling: dict[NameKind, dict[str, dict[str, str]]] = {}
        self._new: dict[NameKind, dict[str, dict[str, str]]] = {}

    def add(self, kind: NameKind, scope: str, text: str, declares: bool = False) -> None:
        """There is such a name; one that declares is spelt as it should be."""
        known = self._spelling.setdefault(kind, {}).setdefault(scope, {})
        if declares or kind.same(text) not in known:
            known[kind.same(text)] = text

    def assign(self) -> None:
        """Give new names; nodes first, for devices are named after them."""
        for kind in sorted(self._spelling, key=lambda kind: (kind is not name_kinds.NODE, kind.word)):
            scopes = sorted(self._spelling[kind])
            spelt = [self._spelling[kind][scope] for scope in scopes]
            fixed = [
                {text: self._fixed(kind, scope, same) for same, text in known.items()}
                for scope, known in zip(scopes, spelt, strict=True)
            ]
            new = assign_names(kind, fixed)
            self._new[kind] = {
                scope: {same: names.get(text, must[text] or "") for same, text in known.items()}
                for scope, known, must, names in zip(scopes, spelt, fixed, new, strict=True)
            }

    def new(self, kind: NameKind, scope: str, text: str) -> str:
        """What takes the place of a name that was noted."""
        return self._new[kind][scope][kind.same(text)]

    def replacements(self) -> dict[str, dict[str, str]]:
        """Every new name with the old one, by kind; new names are unique."""
        found: dict[str, dict[str, str]] = {}
        for kind, scopes in self._new.items():
            pairs = {
                new: self._spelling[kind][scope][same]
                for scope, names in scopes.items()
                for same, new in names.items()
            }
            changed = {new: old for new, old in sorted(pairs.items()) if new != kind.same(old)}
            if changed:
                found[kind.word] = changed
        return found

    def _fixed(self, kind: NameKind, scope: str, same: str) -> str | None:
        """What a name must become; None: anything in the right order."""
        if kind.unchanged.fullmatch(same):
            return same
        if kind is name_kinds.VALUE:
            standard = name_kinds.STANDARD_VALUES.get(scope)
            is_number = scope in self._compared and _INTEGER.fullmatch(same)
            return same if is_number or (standard and standard.fullmatch(same)) else None
        if kind is name_kinds.ANNOTATION:
            return same if is_readable(scope, same) else None
        if kind is name_kinds.DEVICE and same.startswith(scope) and _OPENED.fullmatch(same, len(scope)):
            return self.new(name_kinds.NODE, "", scope) + same.removeprefix(scope)
        return None
