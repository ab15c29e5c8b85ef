"""The section `server` of the configuration file: what the server accepts, and from whom.

The section `records` of the configuration file: what is written down of decisions, where and how long.
"""

import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from tenure.process.values import (
    Address,
    AtLeastOne,
    ConfigSection,
    Duration,
    PositiveDuration,
    parse_empty_section,
)
from tenure.terms.durations import SECOND

_DAY = 86_400 * SECOND


class RecordSettings(ConfigSection):
    """How decisions are recorded. Times in nanoseconds."""

    enabled: bool = True
    """Whether they are."""
    path: Path | None = None
    """The file. None: `records.sqlite` where the platform keeps the state of a user's programs."""
    max_age: PositiveDuration = 7 * _DAY
    """Older records are dropped."""
    max_mib: AtLeastOne = 512
    """Largest size of the file, in MiB; the oldest records go first."""

    def with_overrides(self, path: Path | None, *, is_off: bool) -> "RecordSettings":
        """With another file, which turns records on, or with none at all."""
        if is_off:
            return self.model_copy(update={"enabled": False})
        return self if path is None else self.model_copy(update={"enabled": True, "path": path})


class MaxRows(ConfigSection):
    """Most rows of a request or of a kept state, by list; more get RESOURCE_EXHAUSTED."""

    nodes: AtLeastOne = 20_000
    queues: AtLeastOne = 5_000
    pod_groups: AtLeastOne = 100_000
    pods: AtLeastOne = 200_000
    """Of `pods` and of `pod_columns`, each."""
    shapes: AtLeastOne = 100_000
    topologies: AtLeastOne = 1_000
    resource_claims: AtLeastOne = 200_000
    eviction_history: AtLeastOne = 200_000
    in_flight_groups: AtLeastOne = 10_000
    elements: AtLeastOne = 1_000_000
    """Entries of all lists and maps within rows, and in the rest of a request, all together."""


DEFAULT_ROWS: Final = MaxRows()


class ServerLimits(ConfigSection):
    """What the server accepts. Times in nanoseconds."""

    max_message_mib: Annotated[int, Field(ge=1, le=1024)] = 64
    """Largest request, in MiB; larger ones get RESOURCE_EXHAUSTED."""
    max_chunk_mib: Annotated[int, Field(ge=1, le=1024)] = 1
    """Largest piece of a snapshot that is pushed in pieces, in MiB."""
    max_rows: Annotated[MaxRows, BeforeValidator(parse_empty_section)] = DEFAULT_ROWS
    max_name_length: AtLeastOne = 253
    """Longest name or uid, in characters; longer ones get INVALID_ARGUMENT."""
    max_text_length: AtLeastOne = 4_096
    """Longest other text, in characters; likewise."""
    max_states: AtLeastOne = 32
    """States kept at a time; the one that was used longest ago goes first."""
    max_state_mib: AtLeastOne = 1_024
    """All kept states together, as messages, in MiB; likewise."""
    state_idle_timeout: PositiveDuration = 3_600 * SECOND
    """A state that nobody used for so long is dropped."""
    max_staleness: PositiveDuration | None = None
    """A state whose time is further behind the server's clock is refused. None: any age."""
    max_concurrent_cycles: AtLeastOne = max(2, os.cpu_count() or 1)
    """Cycles of different clusters and node pools that run at a time; one of each."""
    solver_host: Literal["thread", "process"] = "thread"
    """Where cycles run: in a thread of the server, or in a process of its own that can be killed."""
    max_queued_calls: AtLeastOne = 16
    """Calls that may wait for their turn; more get RESOURCE_EXHAUSTED and may retry later."""
    max_streams: AtLeastOne = 64
    """Streams that may be open at a time; likewise."""
    stream_idle_timeout: PositiveDuration = 300 * SECOND
    """A stream on which nothing comes for so long is ended."""
    drain_timeout: Duration = 20 * SECOND
    """How long calls in flight may take to finish after SIGTERM."""


class Security(ConfigSection):
    """Who may call, and whether calls are encrypted. Files are read again when they change."""

    tls_cert: Path | None = None
    """The server's certificate chain in PEM. With `tls_key` it turns TLS on."""
    tls_key: Path | None = None
    """Its private key in PEM, without a passphrase."""
    tls_client_ca: Path | None = None
    """Who signs certificates of clients, in PEM. With it, a client without one cannot connect."""
    token_file: Path | None = None
    """Tokens, one of which every call must carry. None: nobody is asked for a token."""
    health_listen: Address | None = None
    """Where health alone is answered besides, in clear text and to everybody. None: nowhere."""

    def with_overrides(self, other: "Security") -> "Security":
        """The files that the other names, else one's own."""
        named = {name: file for name, file in other if file is not None}
        return self.model_copy(update=named)


class ServerSection(ServerLimits, Security):
    """All of the section."""

    def limits(self) -> ServerLimits:
        """What the server accepts."""
        return ServerLimits.model_construct(**_of(ServerLimits, self))

    def security(self) -> Security:
        """Who may call."""
        return Security.model_construct(**_of(Security, self))


def _of(part: type[ConfigSection], whole: ConfigSection) -> dict[str, Any]:
    """The values of one part of a section, which are valid already."""
    return {name: getattr(whole, name) for name in part.model_fields}
