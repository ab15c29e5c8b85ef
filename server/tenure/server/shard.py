"""A shard: what has one state, and one cycle at a time."""

from typing import NamedTuple


class Shard(NamedTuple):
    """A cluster and one of its node pools."""

    cluster_id: str
    node_pool: str
