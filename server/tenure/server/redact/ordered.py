"""New names in the order of the old ones, between texts that stay what they are.

Every tie in a decision is broken by names, so the order of names must survive.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from tenure.server.redact.kinds import Kind

_LAST: Final = "~"
"""Comes after every digit: no name with a prefix comes after the prefix and this."""
_FRONTS: Final = ("", "a-", "A-", "!")
"""What a prefix may begin with, the plainest first and the one that is sorted first last."""


class Old(NamedTuple):
    """A text in the order of its kind; `fixed` is what becomes of it if that is not free to choose."""

    text: str
    fixed: str | None


class New(NamedTuple):
    """A name without its number: numbers are given out over all scopes of a kind."""

    prefix: str
    tail: str


def named(kind: Kind, scopes: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
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


def _free_names(kind: Kind, scope: Mapping[str, str | None]) -> Iterator[tuple[str, New]]:
    """Those that are free to choose, in their order."""
    landmarks: dict[str, str | None] = dict(zip(kind.landmarks, kind.landmarks, strict=True))
    texts = [Old(*item) for item in sorted({**landmarks, **scope}.items())]
    runs = [(key, list(run)) for key, run in groupby(texts, key=lambda old: (old.fixed, _stem(kind, old)))]
    low = ""
    for at, ((fixed, stem), run) in enumerate(runs):
        if fixed is not None:
            low = fixed
            continue
        prefix = _prefix(kind, stem, low, _bound(stem, *runs[at + 1][0]) if at + 1 < len(runs) else None)
        low = prefix + _LAST
        for old in run:
            yield old.text, New(prefix, kind.tail(old.text))


def _stem(kind: Kind, old: Old) -> str:
    return kind.beginning(old.text) if old.fixed is None else ""


def _bound(stem: str, following: str | None, following_stem: str) -> str | None:
    """What the names of a run must stay below; None: nothing, for the next ones can be put after them."""
    if following is not None:
        return following
    return None if stem.startswith(following_stem) else following_stem


def _prefix(kind: Kind, stem: str, low: str, high: str | None) -> str:
    """The plainest beginning of names that all lie between two texts."""
    fronts = [*(stem + front for front in _FRONTS), f"{low}-", f"{low}!"]
    for front in fronts:
        prefix = f"{front}{kind.word}-"
        below = high is None or prefix + _LAST < high
        if low < prefix and below and kind.beginning(prefix) == stem:
            return prefix
    raise AssertionError(f"no name fits between {low!r} and {high!r}")
