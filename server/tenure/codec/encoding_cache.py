"""Cache of encoded names, texts and times of one response, and deterministic IDs of decisions.

An ID is the first 16 hex digits of the SHA-256 of a JSON list: the basis of the response (cluster ID, node
pool, version, now, profile digest), then the identified object. For a group these are its ordinal, action and
beneficiary; for a decision the ordinal of its group, its kind, subject and node. So the same request gives
the same IDs everywhere, and different decisions have different IDs.
"""

import json
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.terms.custom_reason import NO_REASONS, CustomReason, DeclaredReasons
from tenure.v1 import decision_pb2 as pb
from tenure.v1.decide_pb2 import ResponseHeader
from tenure.wire.violations import escape_control_characters
from tenure.wire.writer import message, moment, scalar, tag, text

__all__ = ["ID_LENGTH", "NO_SUBJECT", "Identifiers", "compute_id_seed", "quoted"]

_DOMAIN: Final = tag(pb.CustomReason, "domain")
_CUSTOM_CODE: Final = tag(pb.CustomReason, "code")
_CLAUSE: Final = tag(pb.CustomReason, "clause")
_PUBLIC_MESSAGE: Final = tag(pb.CustomReason, "public_message")
_REMEDY: Final = tag(pb.CustomReason, "remedy")

ID_LENGTH: Final = 16
"""Hex digits of an ID: 64 bits. A million IDs collide with a probability of 3 in 10^8."""

NO_SUBJECT: Final = quoted("")
"""In place of the node of a decision without one."""


def compute_id_seed(header: ResponseHeader) -> str:
    """Common part of the IDs of a response."""
    now = (header.now.seconds, header.now.nanos)
    return json.dumps([header.cluster_id, header.node_pool, header.version, now, header.profile_digest])


class Identifiers:
    """Computes the IDs of one group and its decisions. Arguments are `quoted`."""

    __slots__ = ("_group", "_step")

    def __init__(self, basis: str, ordinal: int) -> None:
        self._group = f'{basis}["group", {ordinal}, '
        self._step = f'{basis}["step", {ordinal}, '

    def group(self, action: str, beneficiary: str) -> str:
        """ID of the group; `beneficiary` is the UID of its pod group."""
        return _id(f"{self._group}{action}, {beneficiary}]")

    def decision(self, kind: str, subject: str, node: str = NO_SUBJECT) -> bytes:
        """Encoded ID of a decision of a kind about the pod or pod group with UID `subject`."""
        return text(_id(f"{self._step}{kind}, {subject}, {node}]"))


def _id(named: str) -> str:
    return sha256(named.encode()).hexdigest()[:ID_LENGTH]


CHUNK_SIZE: Final = 128
"""Number of names per chunk. Most responses mention few pod groups and nodes, some
nearly all; memory is allocated by chunk.
"""


class EncodedName:
    """Forms of the name of a pod group or node."""

    __slots__ = ("capitalized_name", "display_name", "encoded", "quoted")

    def __init__(self, name: str, display_name: str) -> None:
        self.encoded = text(name)
        """UID or name as the text of a field."""
        self.quoted = quoted(name)
        """UID or name in JSON, for IDs."""
        self.display_name = escape_control_characters(display_name)
        """Name in sentences."""
        self.capitalized_name = self.display_name[:1].upper() + self.display_name[1:]
        """Name at the beginning of a sentence."""


class _EncodedNames:
    """Encoded names of pod groups or nodes, by index."""

    __slots__ = ("_chunks",)

    def __init__(self, count: int) -> None:
        self._chunks: list[list[EncodedName | None]] = [[]] * (count // CHUNK_SIZE + 1)

    def get(self, index: int) -> EncodedName | None:
        """Name by index; None if it was not used yet."""
        piece = self._chunks[index // CHUNK_SIZE]
        return piece[index % CHUNK_SIZE] if piece else None

    def put(self, index: int, name: EncodedName) -> EncodedName:
        """Add a name."""
        number = index // CHUNK_SIZE
        if not self._chunks[number]:
            self._chunks[number] = [None] * CHUNK_SIZE
        self._chunks[number][index % CHUNK_SIZE] = name
        return name


class EncodingCache:
    """Encoded values of one response, computed on first use."""

    __slots__ = ("_cluster", "_customs", "_moments", "_nodes", "_pod_groups", "_texts", "reasons")

    def __init__(self, cluster: Cluster, reasons: DeclaredReasons = NO_REASONS) -> None:
        self._cluster = cluster
        self.reasons = reasons
        """Reasons that plugins and actions of other packages declare; others are left out."""
        self._customs: dict[tuple[str, str], bytes] = {}
        self._pod_groups = _EncodedNames(len(cluster.pod_groups))
        self._nodes = _EncodedNames(len(cluster.nodes))
        self._texts: dict[str, bytes] = {}
        self._moments: dict[int, bytes] = {}

    def pod_group(self, index: int) -> EncodedName:
        """Name of a pod group; sentences add its queue."""
        mention = self._pod_groups.get(index)
        if mention is None:
            group = self._cluster.pod_groups[index]
            display_name = f"pod group {group.facts.name} (queue {group.facts.queue_name})"
            mention = self._pod_groups.put(index, EncodedName(group.facts.uid, display_name))
        return mention

    def node(self, index: int) -> EncodedName:
        """Name of a node."""
        mention = self._nodes.get(index)
        if mention is None:
            name = self._cluster.nodes[index].facts.name
            mention = self._nodes.put(index, EncodedName(name, name))
        return mention

    def encoded_text(self, word: str) -> bytes:
        """One of few texts, such as names of actions and guards."""
        written = self._texts.get(word)
        if written is None:
            written = self._texts[word] = text(word)
        return written

    def custom_reason(self, domain: str, reason: CustomReason) -> bytes:
        """A declared reason."""
        written = self._customs.get((domain, reason.code))
        if written is None:
            fields = [_DOMAIN, text(domain), _CUSTOM_CODE, text(reason.code), _CLAUSE, text(reason.clause)]
            fields += [_PUBLIC_MESSAGE, text(reason.public), scalar(_REMEDY, text(reason.remedy))]
            written = self._customs[domain, reason.code] = message(fields)
        return written

    def moment(self, nanoseconds: int) -> bytes:
        """Timestamp of a time in nanoseconds."""
        written = self._moments.get(nanoseconds)
        if written is None:
            written = self._moments[nanoseconds] = moment(nanoseconds)
        return written
