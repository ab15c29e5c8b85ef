"""Old and new names of one snapshot.

Decisions break ties by name, so new names have the order of the old ones, between texts that are preserved.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from tenure.cli.redaction import name_kinds
from tenure.cli.redaction.name_kinds import NameKind
from tenure.codec.annotations import is_readable

_LAST: Final = "~"
"""Sorts after every digit, and so after every numbered name with the same prefix."""
_FRONTS: Final = ("", "a-", "A-", "!")
"""Starts of prefixes, by preference; the one that sorts first is last."""


class OldName(NamedTuple):
    """A text in the order of its kind; `fixed` is its new name if it is determined."""

    text: str
    fixed: str | None


class NewName(NamedTuple):
    """Prefix of a name; numbers are assigned across all scopes of a kind."""

    prefix: str
    tail: str


def assign_names(kind: NameKind, scopes: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
    """New name of every text by scope; fixed names are as given."""
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
    """Texts with free names, in order."""
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
    """Upper bound for the names of a run; None: none is needed."""
    if following is not None:
        return following
    return None if stem.startswith(following_stem) else following_stem


def _prefix(kind: NameKind, stem: str, low: str, high: str | None) -> str:
    """Simplest prefix for names between two texts."""
    fronts = [*(stem + front for front in _FRONTS), f"{low}-", f"{low}!"]
    for front in fronts:
        prefix = f"{front}{kind.word}-"
        below = high is None or prefix + _LAST < high
        if low < prefix and below and kind.stem_of(prefix) == stem:
            return prefix
    raise AssertionError(f"no name fits between {low!r} and {high!r}")


_INTEGER: Final = re.compile(r"-*\d+")
_OPENED: Final = re.compile(r"/gpu-[0-9]+")
"""Suffix of a node name: a device created by a decision."""


class NameMap:
    """Collects names with `note`; after `settle`, `new` returns the new name.

    `compared` are the keys of labels whose values are compared as numbers: numbers are preserved.
    """

    def __init__(self, compared: Collection[str]) -> None:
        self._compared = compared
        self._spelling: dict[NameKind, dict[str, dict[str, str]]] = {}
        self._new: dict[NameKind, dict[str, dict[str, str]]] = {}

    def add(self, kind: NameKind, scope: str, text: str, declares: bool = False) -> None:
        """Note a name; a declaring field determines its spelling."""
        known = self._spelling.setdefault(kind, {}).setdefault(scope, {})
        if declares or kind.same(text) not in known:
            known[kind.same(text)] = text

    def assign(self) -> None:
        """Assign new names; nodes first, because devices are named after them."""
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
        """New name of a noted name."""
        return self._new[kind][scope][kind.same(text)]

    def replacements(self) -> dict[str, dict[str, str]]:
        """Old name by new name, by kind; new names are unique."""
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
        """Determined new name; None: any name in order."""
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
