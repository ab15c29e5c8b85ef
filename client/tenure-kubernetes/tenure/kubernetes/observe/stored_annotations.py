"""Annotations that store times and counts of pod groups, as far as the adapter wrote them.

Users who may write a pod group may write its annotations. The adapter therefore signs them with a key from
its own namespace, and remembers the last ones of each pod group during a leadership term. Values of others
are ignored, except for two: a start time counts if it protects less than the start of the pods, and a requeue
cooldown, as it only delays a requeue that its owner opted into.
"""

import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.times import read_time

KEY_BYTES: Final = 32
_DIGEST_DIGITS: Final = 32
_MOST_DIGITS: Final = 19
_SHOWN: Final = 64
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode


_UNSIGNED: Final = (names.REQUEUE_NOT_BEFORE,)
"""What counts of any writer."""


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
    """Without the cooldown."""


class _Signature(NamedTuple):
    """What a signature proves of the annotations beside it."""

    number: int
    has_values: bool
    """Whether it is that of the values without the cooldown."""
    has_cooldown: bool
    """Whether it is that of the cooldown, or of its absence."""


def new_key() -> bytes:
    """A random key."""
    return secrets.token_bytes(KEY_BYTES)


class StoredAnnotations:
    """Signs and verifies with one key. For several threads, one at a time for each pod group."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, _Signed] = {}
        """By uid of the pod group."""
        self._cooldowns: dict[str, tuple[int, str]] = {}
        """Number and text of the last cooldown that is known to be signed, by uid; "": there is none."""

    def read(self, uid: str, annotations: Mapping[str, str], warnings: list[str]) -> StoredValues:
        """The values to use. A change by others is a warning."""
        there, known = _without_cooldown(annotations), self._known.get(uid)
        signature = self._signature(uid, annotations)
        if signature.has_values and (known is None or signature.number >= known.number):
            known = self._known[uid] = _Signed(signature.number, there)
        elif not signature.has_values and (there or known is not None):
            warnings.append("its stored times and counts were changed by another writer, which is ignored")
        cooldown = self._read_cooldown(uid, annotations, signature, warnings)
        gate = {names.REQUEUE_NOT_BEFORE: cooldown} if cooldown else {}
        if known is not None:
            return StoredValues({**known.values, **gate}, True)
        start = there.get(names.LAST_START)
        return StoredValues({**({names.LAST_START: start} if start else {}), **gate}, False)

    def is_signed(self, uid: str, annotations: Mapping[str, str]) -> bool:
        """Whether annotations of a pod group are the last ones that the adapter wrote, but for a cooldown."""
        known, signature = self._known.get(uid), self._signature(uid, annotations)
        return signature.has_values and (known is None or signature.number >= known.number)

    def renew(self, uid: str, there: Mapping[str, str], changes: Mapping[str, str]) -> dict[str, str]:
        """Signed annotations: what counts of those that are there, and changes.

        The signature is later than all known ones of the pod group. A cooldown by another writer stays,
        without a signature.
        """
        read = self.read(uid, there, [])
        kept = {key: text for key, text in read.values.items() if read.is_signed or key in _UNSIGNED}
        renewed = {**kept, **changes}
        cooldown, own = renewed.get(names.REQUEUE_NOT_BEFORE, ""), self._own_cooldown(uid)
        return self._sign(uid, renewed, cooldown if names.REQUEUE_NOT_BEFORE in changes else own)

    def on_written(self, uid: str, annotations: Mapping[str, str]) -> None:
        """Remember annotations that are stored now."""
        signature = self._signature(uid, annotations)
        if signature.has_values:
            self._known[uid] = _Signed(signature.number, _without_cooldown(annotations))
        if signature.has_cooldown:
            self._cooldowns[uid] = (signature.number, annotations.get(names.REQUEUE_NOT_BEFORE, ""))

    def forget(self, uid: str) -> None:
        """Drop what is known of a deleted pod group."""
        self._known.pop(uid, None)
        self._cooldowns.pop(uid, None)

    def _read_cooldown(
        self, uid: str, annotations: Mapping[str, str], signature: _Signature, warnings: list[str]
    ) -> str:
        """The cooldown that counts: an unreadable one, else the later one of what is there and was signed."""
        text, known = annotations.get(names.REQUEUE_NOT_BEFORE, ""), self._cooldowns.get(uid)
        if signature.has_cooldown and (known is None or signature.number >= known[0]):
            self._cooldowns[uid] = (signature.number, text)
            return text
        own = self._own_cooldown(uid)
        if text == own:
            return own
        there, ours = read_time(text.strip()), read_time(own)
        counts = (
            own if not text or (there and ours and there.ToNanoseconds() < ours.ToNanoseconds()) else text
        )
        if text and there is None:
            problem = (
                f"{text[:_SHOWN]!r} is not a time: it is not requeued until this is corrected or removed"
            )
        elif counts == text:
            problem = (
                f"{text[:_SHOWN]!r} was not written by the adapter: it counts, as it only delays a requeue"
            )
        else:
            problem = f"it was changed by another writer: that of the adapter counts, {own}"
        warnings.append(f"annotation {names.REQUEUE_NOT_BEFORE}: {problem}")
        return counts

    def _own_cooldown(self, uid: str) -> str:
        """The last cooldown that is known to be signed; "": none."""
        return self._cooldowns.get(uid, (0, ""))[1]

    def _sign(self, uid: str, annotations: Mapping[str, str], cooldown: str) -> dict[str, str]:
        known, values = self._known.get(uid), _without_cooldown(annotations)
        number = max(time.time_ns(), known.number + 1 if known else 0)
        digests = f"{self._digest(uid, number, values)}.{self._digest(uid, number, cooldown)}"
        return {**annotations, names.SIGNATURE: f"{number}.{digests}"}

    def _signature(self, uid: str, annotations: Mapping[str, str]) -> _Signature:
        text, _, digests = annotations.get(names.SIGNATURE, "").partition(".")
        of_values, _, of_cooldown = digests.partition(".")
        if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS and digests.isascii()):
            return _Signature(0, False, False)
        number = int(text)
        is_equal = hmac.compare_digest
        return _Signature(
            number,
            is_equal(of_values, self._digest(uid, number, _without_cooldown(annotations))),
            is_equal(of_cooldown, self._digest(uid, number, annotations.get(names.REQUEUE_NOT_BEFORE, ""))),
        )

    def _digest(self, uid: str, number: int, values: Mapping[str, str] | str) -> str:
        content = _ENCODE((uid, number, values))
        return hmac.digest(self._key, content, "sha256").hex()[:_DIGEST_DIGITS]


def _without_cooldown(annotations: Mapping[str, str]) -> dict[str, str]:
    values = stored_values(annotations)
    values.pop(names.REQUEUE_NOT_BEFORE, None)
    return values


def stored_values(annotations: Mapping[str, str]) -> dict[str, str]:
    """The stored annotations that are not empty."""
    return {name: annotations[name] for name in names.STORED if annotations.get(name)}
