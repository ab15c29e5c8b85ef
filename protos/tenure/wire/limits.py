"""Limits on the values and the size of requests. With them, no sum or time exceeds 64 bits."""

from collections.abc import Mapping
from typing import Final, Protocol

from tenure.terms.durations import MAX_DURATION, SECOND


class LimitExceeded(ValueError):
    """A request, or a state, has more rows or entries than the server accepts. Names the field and the limit.

    `limit` is the name of the limit in the contract ("pods"), `setting` its name in the configuration file.
    """

    def __init__(self, field: str, limit: str, maximum: int) -> None:
        self.field, self.limit, self.maximum = field, limit, maximum
        first, *rest = limit.split("_")
        self.setting = "server.maxRows." + first + "".join(word.capitalize() for word in rest)
        super().__init__(
            f"{field} has more than {maximum:,} {'rows' if limit != 'elements' else 'entries'}, "
            f"the limit {limit}: send fewer, or raise {self.setting} in the server's configuration"
        )


class RowLimits(Protocol):
    """Maximum number of rows by list of a snapshot."""

    def of(self, name: str) -> int:
        """Limit of a list. That of `pods` applies to `pods` and to `pod_columns` separately.

        `elements` is the total number of entries of all lists and maps, except rows.
        """


class RequestLimits(Protocol):
    """Limits of a receiver. Lengths are in characters."""

    @property
    def max_rows(self) -> RowLimits:
        """By list."""

    @property
    def max_name_length(self) -> int:
        """Maximum length of a name or UID."""

    @property
    def max_text_length(self) -> int:
        """Maximum length of any other text."""


MAX_AMOUNT: Final = 2**53
"""Maximum amount of a node or a request: 9 PB of memory; exact as a float."""

MAX_TOTAL: Final = 2**62
"""Maximum sum of one resource over all nodes, or over all pods; also the maximum quota and limit."""

MAX_DEVICES: Final = 10_000
"""Maximum number of GPUs of a pod, and of devices of one class on a node."""

MAX_RESOURCE_NAMES: Final = 256
"""Maximum number of resource names and device classes of a snapshot."""

MAX_ZONES: Final = 16
"""Maximum number of NUMA zones of a node. Sets of zones are tried one by one."""

MAX_GPU_MEMORY_MIB: Final = 2**20 - 1
"""Maximum memory of one GPU in MiB. A larger value is probably in bytes (semantics R1.15)."""

MAX_WEIGHT: Final = 1e9
"""Maximum over-quota weight."""

MAX_DEPTH: Final = 32
"""Maximum depth of the queue tree, and of the subgroups of a pod group."""

MAX_LEVELS: Final = 32
"""Maximum number of levels of a topology, all of which are searched for a pod group that names it."""

MAX_SUB_GROUPS: Final = 1_000
"""Maximum number of subgroups of a pod group, all of which are visited for each of its pods."""

MAX_EXPRESSIONS: Final = 64
"""Maximum number of expressions of one selector of pods. Each is evaluated for many pods."""

MAX_SPREADS: Final = 64
"""Maximum number of topology spread constraints of a shape, required and preferred ones separately."""

MAX_PREFERENCES: Final = 64
"""Maximum number of preferred terms of one kind of a shape. Each is evaluated for many nodes."""

MAX_DEPENDENCIES: Final = 64
"""Maximum number of pod groups that a pod group names as those it waits for."""

MAX_LENGTHS: Final[Mapping[str, int]] = {
    "nodes.numa_zones": MAX_ZONES,
    "pod_groups.depends_on": MAX_DEPENDENCIES,
    "pod_groups.sub_groups": MAX_SUB_GROUPS,
    "shapes.pod_affinity.match_expressions": MAX_EXPRESSIONS,
    "shapes.pod_anti_affinity.match_expressions": MAX_EXPRESSIONS,
    "shapes.preferred_node_affinity": MAX_PREFERENCES,
    "shapes.preferred_pod_affinity": MAX_PREFERENCES,
    "shapes.preferred_pod_affinity.term.match_expressions": MAX_EXPRESSIONS,
    "shapes.preferred_pod_anti_affinity": MAX_PREFERENCES,
    "shapes.preferred_pod_anti_affinity.term.match_expressions": MAX_EXPRESSIONS,
    "shapes.preferred_topology_spread": MAX_SPREADS,
    "shapes.preferred_topology_spread.match_expressions": MAX_EXPRESSIONS,
    "shapes.topology_spread": MAX_SPREADS,
    "shapes.topology_spread.match_expressions": MAX_EXPRESSIONS,
    "topologies.levels": MAX_LEVELS,
}
"""Maximum lengths of lists within one row, by list of the snapshot and field."""

MAX_ANNOTATION: Final = 4_096
"""Maximum length of an annotation that is read, in characters."""

MAX_TIME_SECONDS: Final = 2**63 // 10**9 - 1
"""Maximum distance of a time from 1970 in seconds: years 1677 to 2262, nanoseconds in 64 bits."""

MAX_DURATION_SECONDS: Final = MAX_DURATION // SECOND
"""Maximum duration in seconds: 100 years."""

MAX_COUNT: Final = 2**30
"""Maximum number of evictions or failures of a pod group, so that it can be incremented in 32 bits."""
