"""The largest values a snapshot may hold, so that no sum or time leaves 64 bits.

What is said when a request has more of something than the server accepts.
"""

from typing import Final, Protocol


class LimitExceeded(ValueError):
    """A request, or a state, has more rows or entries than the server accepts. Names the field and the limit.

    `limit` is the limit's name in the contract ("pods"), `setting` that in the configuration file.
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
    """Most rows by list of a snapshot. Every list has an attribute of its name."""

    @property
    def pods(self) -> int:
        """Of `pods` and of `pod_columns`, each."""

    @property
    def elements(self) -> int:
        """Entries of all lists and maps within rows, and in the rest of a request, all together."""


class RequestLimits(Protocol):
    """What a receiver accepts. Lengths are in characters."""

    @property
    def max_rows(self) -> RowLimits:
        """By list."""

    @property
    def max_name_length(self) -> int:
        """Of a name or uid."""

    @property
    def max_text_length(self) -> int:
        """Of any other text."""


MAX_AMOUNT: Final = 2**53
"""Largest amount on a node or in a request: nine petabytes of memory; still exact as a float."""

MAX_TOTAL: Final = 2**62
"""Largest sum of one resource over all nodes, or over all pods; and so the largest quota or limit."""

MAX_DEVICES: Final = 10_000
"""Most GPUs one pod may ask for, and most devices of one class on a node."""

MAX_RESOURCE_NAMES: Final = 256
"""Most kinds of resources and device classes of a snapshot."""

MAX_ZONES: Final = 16
"""Most NUMA zones of a node: sets of them are tried one by one."""

MAX_GPU_MEMORY_MIB: Final = 2**20 - 1
"""Largest memory of one GPU, just under 1 TiB; more is a value in bytes (semantics R1.15)."""

MAX_WEIGHT: Final = 1e9
"""Largest over-quota weight."""

MAX_DEPTH: Final = 32
"""Most levels of a queue tree, or of a pod group's sub groups."""

MAX_ANNOTATION: Final = 4_096
"""Longest value of an annotation that is read, in characters."""

MAX_TIME_SECONDS: Final = 2**63 // 10**9 - 1
"""Times lie this many seconds around 1970 (years 1677 to 2262), as nanoseconds in 64 bits."""

MAX_DURATION_SECONDS: Final = 100 * 365 * 86_400
"""Longest duration: a hundred years."""

MAX_COUNT: Final = 2**30
"""Most evictions or failures of one pod group; counting on must stay within the field's 32 bits."""
