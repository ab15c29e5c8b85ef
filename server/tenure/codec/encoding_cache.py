"""What recurs in the rows of an answer: each pod group, node, word and moment is written once.

Deterministic ids of decisions.

An id is the first 16 hex digits of the SHA-256 over a JSON list: first what the answer is based on (cluster
id, node pool, version, now, profile digest), then what the id names. For a group that is its ordinal, its
action and its beneficiary; for a step the ordinal of its group, its kind, its subject and its node. So the
same request gives the same ids everywhere, and steps that differ in anything that matters differ in id.
"""

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.v1.decide_pb2 import ResponseHeader
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import moment, text

__all__ = ["ID_LENGTH", "NO_SUBJECT", "Identifiers", "compute_id_seed", "quoted"]

ID_LENGTH: Final = 16
"""Hex digits of an id: 64 bits, so that a million ids of a cycle collide with a chance of 3 in 10^8."""

NO_SUBJECT: Final = quoted("")
"""In place of a node, where a step has none."""


def compute_id_seed(header: ResponseHeader) -> str:
    """What the ids of an answer have in common."""
    now = (header.now.seconds, header.now.nanos)
    return json.dumps([header.cluster_id, header.node_pool, header.version, now, header.profile_digest])


class Identifiers:
    """Makes the ids of one group and its steps, as texts of fields. What they name is given as `quoted`."""

    __slots__ = ("_group", "_step")

    def __init__(self, basis: str, ordinal: int) -> None:
        self._group = f'{basis}["group", {ordinal}, '
        self._step = f'{basis}["step", {ordinal}, '

    def group(self, action: str, beneficiary: str) -> str:
        """ID of the group; `beneficiary` is the UID of its pod group."""
        return _id(f"{self._group}{action}, {beneficiary}]")

    def decision(self, kind: str, subject: str, node: str = NO_SUBJECT) -> bytes:
        """The id of a step: a `kind` is done to the pod or pod group with uid `subject`."""
        return text(_id(f"{self._step}{kind}, {subject}, {node}]"))


def _id(named: str) -> str:
    return sha256(named.encode()).hexdigest()[:ID_LENGTH]


CHUNK_SIZE: Final = 128
"""Most answers mention few of all pod groups and nodes, and some nearly all: there is room for so many more
where one is mentioned.
"""


class EncodedName:
    """A pod group or node in the forms in which rows mention it."""

    __slots__ = ("capitalized_name", "display_name", "encoded", "quoted")

    def __init__(self, name: str, display_name: str) -> None:
        self.encoded = text(name)
        """Its uid or name as the text of a field."""
        self.quoted = quoted(name)
        """The same in JSON, for ids."""
        self.display_name = escape_control_characters(display_name)
        """What sentences call it."""
        self.capitalized_name = self.display_name[:1].upper() + self.display_name[1:]
        """The same where they begin with it."""


class _EncodedNames:
    """Those of pod groups or of nodes, by index."""

    __slots__ = ("_chunks",)

    def __init__(self, count: int) -> None:
        self._chunks: list[list[EncodedName | None]] = [[]] * (count // CHUNK_SIZE + 1)

    def get(self, index: int) -> EncodedName | None:
        """None when it was not mentioned yet."""
        piece = self._chunks[index // CHUNK_SIZE]
        return piece[index % CHUNK_SIZE] if piece else None

    def put(self, index: int, name: EncodedName) -> EncodedName:
        """It is mentioned like this from now on."""
        number = index // CHUNK_SIZE
        if not self._chunks[number]:
            self._chunks[number] = [None] * CHUNK_SIZE
        self._chunks[number][index % CHUNK_SIZE] = name
        return name


class EncodingCache:
    """What recurs in one answer, written when it first occurs."""

    __slots__ = ("_cluster", "_moments", "_nodes", "_pod_groups", "_texts")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pod_groups = _EncodedNames(len(cluster.pod_groups))
        self._nodes = _EncodedNames(len(cluster.nodes))
        self._texts: dict[str, bytes] = {}
        self._moments: dict[int, bytes] = {}

    def pod_group(self, index: int) -> EncodedName:
        """A pod group; sentences tell its queue as well."""
        mention = self._pod_groups.get(index)
        if mention is None:
            group = self._cluster.pod_groups[index]
            said = f"pod group {group.name} (queue {group.queue_name})"
            mention = self._pod_groups.put(index, EncodedName(group.uid, said))
        return mention

    def node(self, index: int) -> EncodedName:
        """A node."""
        mention = self._nodes.get(index)
        if mention is None:
            name = self._cluster.nodes[index].name
            mention = self._nodes.put(index, EncodedName(name, name))
        return mention

    def encoded_text(self, word: str) -> bytes:
        """One of few texts, such as names of actions and guards."""
        written = self._texts.get(word)
        if written is None:
            written = self._texts[word] = text(word)
        return written

    def moment(self, nanoseconds: int) -> bytes:
        """The timestamp of a moment."""
        written = self._moments.get(nanoseconds)
        if written is None:
            written = self._moments[nanoseconds] = moment(nanoseconds)
        return written
