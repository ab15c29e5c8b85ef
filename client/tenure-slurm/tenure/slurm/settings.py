"""The configuration file of the Slurm adapter: sections `slurm` and `telemetry`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic.alias_generators import to_camel
from tenure.client.snapshot_file import SnapshotFileError, read_snapshot
from tenure.process.configuration import (
    MISSING,
    ConfigProblem,
    ConfigurationError,
    Sections,
    find_problems,
    read_document,
)
from tenure.process.values import (
    Address,
    ConfigSection,
    Logs,
    TelemetrySection,
    duration_value,
    parse_empty_section,
)
from tenure.slurm.observe.cluster import Scope
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import Queue

_SECTION: Final = "slurm"
_SHORTEST_PERIOD: Final = 0.2


def _seconds(value: object) -> float:
    seconds = duration_value(value) / SECOND
    if seconds < _SHORTEST_PERIOD:
        raise ValueError("must be at least 200ms")
    return seconds


def _not_empty(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    return value


class SlurmSettings(ConfigSection):
    """The section `slurm`. Keys are in camel case, durations as in `2s`."""

    server: str = "127.0.0.1:50051"
    """Address of the server."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    allow_plaintext: bool = False
    """TLS files and the token for the server, as with all commands."""
    cluster_id: Annotated[str, AfterValidator(_not_empty)]
    """Cluster ID in snapshots, records and metrics."""
    node_pool: str = ""
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
    health_listen: Address | None = None
    """Address of `/healthz` and `/readyz`. None: no probes."""

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


class _File(ConfigSection):
    slurm: SlurmSettings
    telemetry: Annotated[TelemetrySection, BeforeValidator(parse_empty_section)] = TelemetrySection()


_SECTIONS: Final[Sections] = {
    (): _File,
    (_SECTION,): SlurmSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class SlurmConfiguration(NamedTuple):
    """Settings from the configuration file and the command line."""

    slurm: SlurmSettings
    telemetry: TelemetrySection


def load_slurm_settings(file: Path | None, overrides: Mapping[str, object]) -> SlurmConfiguration:
    """Read the settings of a file, if there is one, and of the command line, which has precedence.

    `overrides` are fields of SlurmSettings; None is not set. Raises ConfigurationError with all errors.
    """
    document: dict[str, Any] = {}
    if file is not None:
        read = read_document(file)
        if not isinstance(read, dict) or not isinstance(read.get(_SECTION, {}), dict):
            raise ConfigurationError(
                str(file), [ConfigProblem("", f"must be a mapping with a section `{_SECTION}`")]
            )
        document = read
    spoken = {to_camel(name): value for name, value in overrides.items() if value is not None}
    try:
        made = _File.model_validate({**document, _SECTION: {**document.get(_SECTION, {}), **spoken}})
    except ValidationError as error:
        problems = [_with_place(problem) for problem in find_problems(error, _SECTIONS)]
        raise ConfigurationError(str(file or "command line"), problems) from None
    telemetry = made.telemetry
    if "level" not in telemetry.logs.model_fields_set:
        telemetry = telemetry.model_copy(update={"logs": telemetry.logs.model_copy(update={"level": "info"})})
    return SlurmConfiguration(made.slurm, telemetry)


def _with_place(problem: ConfigProblem) -> ConfigProblem:
    if problem.text != MISSING:
        return problem
    return ConfigProblem(problem.path, "is missing; set it in the file given as --config")
