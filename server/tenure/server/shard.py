"""Shards, and why a call ends without a result."""

from typing import NamedTuple


class Shard(NamedTuple):
    """A cluster ID and a node pool: the unit of one state and of sequential cycles."""

    cluster_id: str
    node_pool: str


class CallEnded(TimeoutError):
    """The deadline of the call passed, or it was cancelled. Nothing was changed."""


class Draining(Exception):
    """The server is draining and accepts no more calls."""
