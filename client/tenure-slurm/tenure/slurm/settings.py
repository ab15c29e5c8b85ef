"""The configuration file of the Slurm adapter: sections `slurm` and `telemetry`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BeforeValidator, Field
from tenure.client.snapshot_file import SnapshotFileError, read_snapshot
from tenure.integration.adapter_settings import AdapterFile, ServerSettings, read_adapter_file
from tenure.process.configuration import ConfigProblem, ConfigurationError, Sections
from tenure.process.values import TelemetrySection, duration_value
from tenure.slurm.observe.cluster import Scope
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import Queue

_SECTION: Final = "slurm"
_SHORTEST_PERIOD: Final = 0.2
_MISSING: Final = "is missing; set it in the file given as --config"


def _seconds(value: object) -> float:
    seconds = duration_value(value) / SECOND
    if seconds < _SHORTEST_PERIOD:
        raise ValueError("must be at least 200ms")
    return seconds


class SlurmSettings(ServerSettings):
    """The section `slurm`. Keys are in camel case, durations as in `2s`."""

    partitions: Annotated[tuple[str, ...], Field(min_length=1)]
    """Partitions that Tenure schedules. Their nodes are in no other partition."""
    queue_from: Literal["account", "qos", "partition"] = "account"
    """What names the queue of a job."""
    queues_file: Path | None = None
    """Snapshot file with `queues`. None: a queue without quota for each name."""
    parent_queue: str = ""
    """Parent of the queues that are not in the file."""
    default_queue: str = "default"
    """Queue of jobs without a name."""
    closed_queues: bool = False
    """Whether jobs with another name than those in the file use the default queue."""
    priorities: dict[str, Annotated[int, Field(ge=0)]] = {}
    """Priority of jobs by QOS, or by partition."""
    default_priority: Annotated[int, Field(ge=0)] = 50
    expected_runtime_percent: Annotated[int, Field(ge=0, le=100)] = 0
    """Part of the time limit that a job without an option is expected to run. 0: no expectation."""
    state_file: Path = Path("/var/lib/tenure/slurm.db")
    """The journal and what is remembered of jobs. A lock lies beside it."""
    poll_interval: Annotated[float, BeforeValidator(_seconds)] = 1.0
    """How often changes are looked for, in seconds."""

    def scope(self) -> Scope:
        """The scheduled part of the cluster."""
        return Scope(
            cluster_id=self.cluster_id,
            partitions=self.partitions,
            node_pool=self.node_pool,
            queue_from=self.queue_from,
            default_queue=self.default_queue,
            parent_queue=self.parent_queue,
            is_closed=self.closed_queues,
            priorities=self.priorities,
            default_priority=self.default_priority,
            expected_runtime_percent=self.expected_runtime_percent,
        )

    def queues(self) -> list[Queue]:
        """Configured queues. Raises ConfigurationError."""
        if self.queues_file is None:
            return []
        try:
            return list(read_snapshot(str(self.queues_file)).queues)
        except SnapshotFileError as error:
            raise ConfigurationError(str(self.queues_file), [ConfigProblem("", str(error))]) from None


class _File(AdapterFile):
    slurm: SlurmSettings


class SlurmConfiguration(NamedTuple):
    """Settings from the configuration file and the command line."""

    slurm: SlurmSettings
    telemetry: TelemetrySection


def load_slurm_settings(file: Path | None, overrides: Mapping[str, object]) -> SlurmConfiguration:
    """Read the settings of a file, if there is one, and of the command line, which has precedence.

    `overrides` are fields of SlurmSettings; None is not set. Raises ConfigurationError with all errors.
    """
    sections: Sections = {(_SECTION,): SlurmSettings}
    read = read_adapter_file(file, overrides, _File, _SECTION, sections, lambda path: _MISSING)
    return SlurmConfiguration(read.slurm, read.adapter_telemetry)
