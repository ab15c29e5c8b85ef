"""Deterministic ids of decisions.

An id is the first 16 hex digits of the SHA-256 over a JSON list: first what the answer is based on (cluster
id, node pool, version, now, profile digest), then what the id names. For a group that is its ordinal, its
action and its beneficiary; for a step the ordinal of its group, its kind, its subject and its node. So the
same request gives the same ids everywhere, and steps that differ in anything that matters differ in id.
"""

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii as _quoted
from typing import Final

from tenure.v1.decision_service_pb2 import BasedOn

ID_LENGTH: Final = 16
"""Hex digits of an id: 64 bits, so that a million ids of a cycle collide with a chance of 3 in 10^8."""


class Identifiers:
    """Makes the ids of one answer."""

    def __init__(self, based_on: BasedOn) -> None:
        now = (based_on.now.seconds, based_on.now.nanos)
        basis = [based_on.cluster_id, based_on.node_pool, based_on.version, now, based_on.profile_digest]
        self._basis = json.dumps(basis)

    def group(self, ordinal: int, action: str, beneficiary: str) -> str:
        """The id of a group of decisions; `beneficiary` is the uid of its pod group."""
        return self._id(f'["group", {ordinal}, {_quoted(action)}, {_quoted(beneficiary)}]')

    def step(self, ordinal: int, kind: str, subject: str, node: str = "") -> str:
        """The id of a step: a `kind` is done to the pod or pod group with uid `subject`."""
        return self._id(f'["step", {ordinal}, "{kind}", {_quoted(subject)}, {_quoted(node)}]')

    def _id(self, named: str) -> str:
        return sha256((self._basis + named).encode()).hexdigest()[:ID_LENGTH]
