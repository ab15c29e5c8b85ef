"""The clusters that a request names, found by its descriptor, so that no new field or method is forgotten.

A message names a cluster if it has the fields `cluster_id` and `node_pool`.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from tenure.server.shard import Shard
from tenure.v1.state_pb2 import StateDelta

_FIELDS: Final = ("cluster_id", "node_pool")
_Path = tuple[str, ...]


class ClusterPaths(NamedTuple):
    """Paths of fields in a type of request."""

    clusters: tuple[_Path, ...]
    """Messages that name a cluster; the first that is set is the one that the request is about."""
    deltas: tuple[_Path, ...]
    """Deltas, which change a state."""


class NamedClusters(NamedTuple):
    """Clusters of a request."""

    shards: tuple[Shard, ...]
    """The first is the one that the request is about. Without any, the request concerns the server."""
    version: int | None
    """Version of the state that the request names, or makes by a delta."""
    has_delta: bool


@lru_cache(maxsize=64)
def cluster_paths(kind: Descriptor) -> ClusterPaths:
    """Paths in a type of request. Raises TypeError if it can name any number of clusters."""
    found = list(_messages(kind, (), (kind,)))
    return ClusterPaths(
        tuple(path for path, each in found if _names_cluster(each)),
        tuple(path for path, each in found if each is StateDelta.DESCRIPTOR),
    )


def named_clusters(request: Message, before: Shard | None = None) -> NamedClusters:
    """Clusters that a request names. An empty name is that of the cluster that the request is about.

    `before` is the cluster of earlier chunks of the same request. Such a request names a cluster even if all
    its names are empty: one without a name, which only rules for all clusters permit.
    """
    paths = cluster_paths(request.DESCRIPTOR)
    if not paths.clusters:
        return NamedClusters((), None, False)
    first, shards, version = before, [], None
    for message in _present(request, paths.clusters):
        shard = Shard(message.cluster_id, message.node_pool)
        if first is None:
            first = shard
        elif shard != first:
            shard = Shard(shard.cluster_id or first.cluster_id, shard.node_pool or first.node_pool)
        shards.append(shard)
        if version is None:
            version = getattr(message, "version", None)
    deltas = list(_present(request, paths.deltas))
    if deltas:
        version = deltas[0].version
    return NamedClusters(tuple(dict.fromkeys(shards)) or (first or Shard("", ""),), version, bool(deltas))


def _present(request: Message, paths: tuple[_Path, ...]) -> Iterator[Any]:
    for path in paths:
        message = request
        for name in path:
            if not message.HasField(name):
                break
            message = getattr(message, name)
        else:
            yield message


def _messages(
    kind: Descriptor, path: _Path, within: tuple[Descriptor, ...]
) -> Iterator[tuple[_Path, Descriptor]]:
    """Messages that a message contains once, itself included."""
    yield path, kind
    for field in kind.fields:
        inner = field.message_type
        if inner is None or inner in within:
            continue
        if field.is_repeated:
            _refuse_clusters(field, within)
        else:
            yield from _messages(inner, (*path, field.name), (*within, inner))


def _refuse_clusters(field: FieldDescriptor, within: tuple[Descriptor, ...]) -> None:
    kinds, seen = _inner(field), set(within)
    for kind in kinds:
        if kind in seen:
            continue
        if _names_cluster(kind) or kind is StateDelta.DESCRIPTOR:
            raise TypeError(f"{field.full_name} names any number of clusters, which are not judged")
        seen.add(kind)
        kinds.extend(inner for each in kind.fields for inner in _inner(each))


def _inner(field: FieldDescriptor) -> list[Descriptor]:
    return [] if field.message_type is None else [field.message_type]


def _names_cluster(kind: Descriptor) -> bool:
    return all(name in kind.fields_by_name for name in _FIELDS)
