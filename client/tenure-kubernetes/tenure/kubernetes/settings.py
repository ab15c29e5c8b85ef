"""The configuration file of an adapter: the sections `adapter` and `telemetry`.

What an adapter is told: the section `adapter` of its configuration file.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.times import read_duration
from tenure.process.configuration import (
    ConfigProblem,
    ConfigurationError,
    Sections,
    find_problems,
    read_document,
)
from tenure.process.values import ConfigSection, Logs, TelemetrySection, parse_empty_section

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")
_SHORTEST_LEASE: Final = 3.0


class EvictionMode(StrEnum):
    """How pods are made to end."""

    EVICTION = "eviction"
    """By the Eviction API, which respects disruption budgets."""
    DELETE = "delete"
    """By deleting them, whatever budgets say."""


class WorkloadApi(StrEnum):
    """Whose queues and pod groups are followed."""

    AUTO = "auto"
    """Those that the API server knows, of both."""
    KAI = "kai"
    VOLCANO = "volcano"


def _seconds(value: object) -> float:
    span = read_duration(value) if isinstance(value, str) else None
    if span is None or span.ToNanoseconds() < 0:
        raise ValueError("must be a duration like 30s, 1h30m or 2d")
    return span.ToNanoseconds() / 1e9


def _lease_seconds(value: float) -> float:
    if value < _SHORTEST_LEASE:
        raise ValueError("must be 3s or longer: it is renewed several times within")
    return value


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be a name of lower case letters, digits and -, of at most 52 characters")
    return value


def _not_empty(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    return value


def _address(value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > _LAST_PORT:
        raise ValueError("must be HOST:PORT, like 0.0.0.0:8081")
    return value


_LAST_PORT: Final = 65_535
Seconds = Annotated[float, BeforeValidator(_seconds)]
Name = Annotated[str, AfterValidator(_name)]


class AdapterSettings(BaseModel):
    """All of the section. Keys are in camel case, durations are written like 15s."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    server: str = "127.0.0.1:50051"
    """Address of the server that decides."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    token_file: Path | None = None
    """What is shown to the server and expected of it, as with all commands."""
    allow_plaintext: bool = False
    """Permits a token in clear text to another machine."""
    kubeconfig: Path | None = None
    """None: the service account of the pod; where there is none, where kubectl looks."""
    context: str | None = None
    """Of the kubeconfig; None: its current one."""
    cluster_id: Annotated[str, AfterValidator(_not_empty)]
    """What the cluster is called in snapshots, records and metrics."""
    node_pool: str = ""
    """Value of the label; empty: nodes, queues and pod groups without it."""
    node_pool_label: str = "kai.scheduler/node-pool"
    """Empty: all nodes, queues and pod groups are of one pool."""
    scheduler_name: Annotated[str, AfterValidator(_not_empty)] = "kai-scheduler"
    """Whose pods are bound: KAI-Scheduler's own name, so that its users change nothing in their workloads."""
    workload_api: WorkloadApi = WorkloadApi.AUTO
    derive_pod_groups: bool = True
    """Whether pods that name no pod group get one from their owner."""
    default_queue: str = "default-queue"
    """Of derived pod groups that name none."""
    eviction_mode: EvictionMode = EvictionMode.EVICTION
    namespace: Annotated[str, AfterValidator(_name)] = "tenure-system"
    """Where the lease and the ledger are. It must exist."""
    lease_name: Name | None = None
    """None: `tenure`, or `tenure-NODEPOOL`. The ledger is a ConfigMap of that name with `-journal`."""
    lease_duration: Annotated[Seconds, AfterValidator(_lease_seconds)] = 15.0
    """How long the others wait for a holder that is silent."""
    health_listen: Annotated[str, AfterValidator(_address)] | None = None
    """Where `/healthz` and `/readyz` are answered. None: nowhere."""

    @model_validator(mode="after")
    def _check_lease_name(self) -> Self:
        if self.lease_name is None and self.node_pool and not _NAME.fullmatch(f"tenure-{self.node_pool}"):
            raise ValueError(f"no lease can be called after node pool {self.node_pool!r}: give leaseName")
        return self

    @property
    def lease(self) -> str:
        """Name of the lease: one for each node pool, as each is decided on by itself."""
        return self.lease_name or (f"tenure-{self.node_pool}" if self.node_pool else "tenure")

    def snapshot_scope(self) -> SnapshotScope:
        """What part of the cluster is looked at."""
        return SnapshotScope(
            cluster_id=self.cluster_id,
            scheduler_name=self.scheduler_name,
            node_pool=self.node_pool,
            node_pool_label=self.node_pool_label,
            derive=self.derive_pod_groups,
            default_queue=self.default_queue,
        )


_SECTION: Final = "adapter"
_NO_FILE: Final = "command line"
_MISSING: Final = "Field required"
_LEVEL: Final = "info"
"""An adapter says who leads; a server, which every call could fill pages of, begins at warnings."""


class _File(ConfigSection):
    adapter: AdapterSettings
    telemetry: Annotated[TelemetrySection, BeforeValidator(parse_empty_section)] = TelemetrySection()


_SECTIONS: Final[Sections] = {
    (): _File,
    (_SECTION,): AdapterSettings,
    ("telemetry",): TelemetrySection,
    ("telemetry", "logs"): Logs,
}


class AdapterConfiguration(NamedTuple):
    """What the file and the command line of an adapter say."""

    adapter: AdapterSettings
    telemetry: TelemetrySection


def load_adapter_settings(file: Path | None, overrides: Mapping[str, object]) -> AdapterConfiguration:
    """The settings of a file, if there is one, and of the command line, which goes first.

    `said` are fields of AdapterSettings; None was not said. Raises ConfigurationError with every fault.
    """
    document = _document(file) if file else {}
    spoken = {to_camel(name): value for name, value in overrides.items() if value is not None}
    try:
        read = _File.model_validate({**document, _SECTION: {**document.get(_SECTION, {}), **spoken}})
    except ValidationError as error:
        problems = map(_with_flag, find_problems(error, _SECTIONS))
        raise ConfigurationError(str(file or _NO_FILE), problems) from None
    return AdapterConfiguration(read.adapter, _validated_telemetry(read.telemetry))


def _document(file: Path) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict) or _SECTION not in document:
        raise ConfigurationError(str(file), [ConfigProblem("", f"must have a section `{_SECTION}`")])
    if not isinstance(document[_SECTION], dict):
        raise ConfigurationError(
            str(file), [ConfigProblem(_SECTION, "must be a mapping with keys such as `server`")]
        )
    return document


def _validated_telemetry(telemetry: TelemetrySection) -> TelemetrySection:
    if "level" in telemetry.logs.model_fields_set:
        return telemetry
    return telemetry.model_copy(update={"logs": telemetry.logs.model_copy(update={"level": _LEVEL})})


def _with_flag(problem: ConfigProblem) -> ConfigProblem:
    """A key that is missing may be given on the command line instead."""
    if problem.text != _MISSING:
        return problem
    key = problem.path.removeprefix(f"{_SECTION}.")
    flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
    return ConfigProblem(problem.path, f"is missing; give it here or as --{flag}")
