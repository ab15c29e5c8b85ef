"""Annotations that store times and counts of pod groups, as far as the adapter wrote them.

Users who may write a pod group may write its annotations. The adapter therefore signs them with a key from
its own namespace, and remembers the last ones of each pod group during a leadership term. Values of others
are ignored, except for a start time, which counts only if it protects less than the start of the pods.
"""

import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects import names

KEY_BYTES: Final = 32
_DIGEST_DIGITS: Final = 32
_MOST_DIGITS: Final = 19
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


class StoredValues(NamedTuple):
    """Annotations of one pod group, by name, without empty ones."""

    values: Mapping[str, str]
    is_signed: bool
    """Whether the adapter wrote them."""


class _Signed(NamedTuple):
    """The last annotations that are known to be signed."""

    number: int
    """Higher for later ones: an earlier signature is not accepted again."""
    values: Mapping[str, str]


def new_key() -> bytes:
    """A random key."""
    return secrets.token_bytes(KEY_BYTES)


class StoredAnnotations:
    """Signs and verifies with one key. For several threads, one at a time for each pod group."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, _Signed] = {}
        """By uid of the pod group."""

    def read(self, uid: str, annotations: Mapping[str, str], warnings: list[str]) -> StoredValues:
        """The values to use. A change by others is a warning."""
        there, known = stored_values(annotations), self._known.get(uid)
        number = self._verified_number(uid, annotations, there)
        if number is not None and (known is None or number >= known.number):
            known = self._known[uid] = _Signed(number, there)
        elif number is None and (there or known is not None):
            warnings.append("its stored times and counts were changed by another writer, which is ignored")
        if known is not None:
            return StoredValues(known.values, True)
        start = there.get(names.LAST_START)
        return StoredValues({names.LAST_START: start} if start else {}, False)

    def is_signed(self, uid: str, annotations: Mapping[str, str]) -> bool:
        """Whether annotations of a pod group are the last ones that the adapter wrote."""
        there, known = stored_values(annotations), self._known.get(uid)
        number = self._verified_number(uid, annotations, there)
        return number is not None and (known is None or number >= known.number)

    def sign(self, uid: str, annotations: Mapping[str, str]) -> dict[str, str]:
        """Annotations with their signature, which is later than all known ones of the pod group."""
        known, values = self._known.get(uid), stored_values(annotations)
        number = max(time.time_ns(), known.number + 1 if known else 0)
        return {**annotations, names.SIGNATURE: f"{number}.{self._digest(uid, number, values)}"}

    def on_written(self, uid: str, annotations: Mapping[str, str]) -> None:
        """Remember annotations that are stored now."""
        values = stored_values(annotations)
        number = self._verified_number(uid, annotations, values)
        if number is not None:
            self._known[uid] = _Signed(number, values)

    def forget(self, uid: str) -> None:
        """Drop what is known of a deleted pod group."""
        self._known.pop(uid, None)

    def _verified_number(
        self, uid: str, annotations: Mapping[str, str], values: Mapping[str, str]
    ) -> int | None:
        """Number of a valid signature, or None."""
        text, _, digest = annotations.get(names.SIGNATURE, "").partition(".")
        if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and digest.isascii()):
            return None
        number = int(text)
        return number if hmac.compare_digest(digest, self._digest(uid, number, values)) else None

    def _digest(self, uid: str, number: int, values: Mapping[str, str]) -> str:
        content = _ENCODE((uid, number, values))
        return hmac.digest(self._key, content, "sha256").hex()[:_DIGEST_DIGITS]


def stored_values(annotations: Mapping[str, str]) -> dict[str, str]:
    """The stored annotations that are not empty."""
    return {name: annotations[name] for name in names.STORED if annotations.get(name)}
