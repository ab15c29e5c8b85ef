"""The names of one snapshot, old and new."""

import re
from collections.abc import Collection
from typing import Final

from tenure.server.codec.annotations import is_readable
from tenure.server.redact import kinds
from tenure.server.redact.kinds import Kind
from tenure.server.redact.ordered import named

_INTEGER: Final = re.compile(r"-*\d+")
_OPENED: Final = re.compile(r"/gpu-[0-9]+")
"""After the name of a node: a device that a decision opened for sharing."""


class Names:
    """Collects names with `note`; after `settle`, `new` gives the name that takes the place of one.

    `compared` are the keys of labels whose values are compared as numbers: these numbers stay.
    """

    def __init__(self, compared: Collection[str]) -> None:
        self._compared = compared
        self._spelling: dict[Kind, dict[str, dict[str, str]]] = {}
        self._new: dict[Kind, dict[str, dict[str, str]]] = {}

    def note(self, kind: Kind, scope: str, text: str, declares: bool = False) -> None:
        """There is such a name; one that declares is spelt as it should be."""
        known = self._spelling.setdefault(kind, {}).setdefault(scope, {})
        if declares or kind.same(text) not in known:
            known[kind.same(text)] = text

    def settle(self) -> None:
        """Give new names; nodes first, for devices are named after them."""
        for kind in sorted(self._spelling, key=lambda kind: (kind is not kinds.NODE, kind.word)):
            scopes = sorted(self._spelling[kind])
            spelt = [self._spelling[kind][scope] for scope in scopes]
            fixed = [
                {text: self._fixed(kind, scope, same) for same, text in known.items()}
                for scope, known in zip(scopes, spelt, strict=True)
            ]
            new = named(kind, fixed)
            self._new[kind] = {
                scope: {same: names.get(text, must[text] or "") for same, text in known.items()}
                for scope, known, must, names in zip(scopes, spelt, fixed, new, strict=True)
            }

    def new(self, kind: Kind, scope: str, text: str) -> str:
        """What takes the place of a name that was noted."""
        return self._new[kind][scope][kind.same(text)]

    def replaced(self) -> dict[str, dict[str, str]]:
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

    def _fixed(self, kind: Kind, scope: str, same: str) -> str | None:
        """What a name must become; None: anything in the right order."""
        if kind.stays.fullmatch(same):
            return same
        if kind is kinds.VALUE:
            standard = kinds.STANDARD_VALUES.get(scope)
            is_number = scope in self._compared and _INTEGER.fullmatch(same)
            return same if is_number or (standard and standard.fullmatch(same)) else None
        if kind is kinds.ANNOTATION:
            return same if is_readable(scope, same) else None
        if kind is kinds.DEVICE and same.startswith(scope) and _OPENED.fullmatch(same, len(scope)):
            return self.new(kinds.NODE, "", scope) + same.removeprefix(scope)
        return None
