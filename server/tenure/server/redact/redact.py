"""Redaction: collect all names, give new ones in the same order, write the snapshot anew with them."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from tenure.server.codec.decode import decode_snapshot
from tenure.server.redact.fields import Name
from tenure.server.redact.names import Names
from tenure.server.redact.rewrite import rewritten
from tenure.v1 import snapshot_pb2 as pb

_NUMERIC: Final = (pb.SELECTOR_OPERATOR_GREATER_THAN, pb.SELECTOR_OPERATOR_LESS_THAN)


class Redacted(NamedTuple):
    """A snapshot without names."""

    snapshot: pb.ClusterSnapshot
    names: Mapping[str, Mapping[str, str]]
    """New names, each with the one it took the place of, by kind."""


def redact(snapshot: pb.ClusterSnapshot) -> Redacted:
    """The same cluster under other names, about which every decision is the same.

    Amounts, times, priorities and the order of the lists stay. Ids of decisions differ, for they are digests
    that names go into. Spellings of a sub group that differ in case alone become one. Raises InvalidSnapshot
    when no decision can be taken on the snapshot.
    """
    decode_snapshot(snapshot)
    names = Names(set(_compared_keys(snapshot)))

    def note(name: Name, scope: str, text: str) -> str:
        names.note(name.kind, scope, text, name.declares)
        return text

    def new(name: Name, scope: str, text: str) -> str:
        return names.new(name.kind, scope, text)

    rewritten(snapshot, note)
    names.settle()
    return Redacted(rewritten(snapshot, new), names.replaced())


def _compared_keys(snapshot: pb.ClusterSnapshot) -> Iterator[str]:
    """Keys of labels whose values a shape compares as numbers."""
    for shape in snapshot.shapes:
        for term in shape.node_affinity:
            for requirement in term.requirements:
                if requirement.operator in (
                    pb.SELECTOR_OPERATOR_GREATER_THAN,
                    pb.SELECTOR_OPERATOR_LESS_THAN,
                ):
                    yield requirement.key
