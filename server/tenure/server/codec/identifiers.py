"""Deterministic ids of decisions.

An id is the first 16 hex digits of the SHA-256 over a JSON list: first what the answer is based on (cluster
id, node pool, version, now, profile digest), then what the id names. For a group that is its ordinal, its
action and its beneficiary; for a step the ordinal of its group, its kind, its subject and its node. So the
same request gives the same ids everywhere, and steps that differ in anything that matters differ in id.
"""

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from tenure.server.codec.writing import text
from tenure.v1.decision_service_pb2 import BasedOn

__all__ = ["ID_LENGTH", "NOBODY", "Identifiers", "basis_of", "quoted"]

ID_LENGTH: Final = 16
"""Hex digits of an id: 64 bits, so that a million ids of a cycle collide with a chance of 3 in 10^8."""

NOBODY: Final = quoted("")
"""In place of a node, where a step has none."""


def basis_of(based_on: BasedOn) -> str:
    """What the ids of an answer have in common."""
    now = (based_on.now.seconds, based_on.now.nanos)
    return json.dumps(
        [based_on.cluster_id, based_on.node_pool, based_on.version, now, based_on.profile_digest]
    )


class Identifiers:
    """Makes the ids of one group and its steps, as texts of fields. What they name is given as `quoted`."""

    __slots__ = ("_group", "_step")

    def __init__(self, basis: str, ordinal: int) -> None:
        self._group = f'{basis}["group", {ordinal}, '
        self._step = f'{basis}["step", {ordinal}, '

    def group(self, action: str, beneficiary: str) -> bytes:
        """The id of the group; `beneficiary` is the uid of its pod group."""
        return _id(f"{self._group}{action}, {beneficiary}]")

    def step(self, kind: str, subject: str, node: str = NOBODY) -> bytes:
        """The id of a step: a `kind` is done to the pod or pod group with uid `subject`."""
        return _id(f"{self._step}{kind}, {subject}, {node}]")


def _id(named: str) -> bytes:
    return text(sha256(named.encode()).hexdigest()[:ID_LENGTH])
