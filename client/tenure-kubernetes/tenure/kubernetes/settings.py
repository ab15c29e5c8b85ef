"""The configuration file of an adapter: sections `adapter` and `telemetry`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from tenure.integration.adapter_settings import AdapterFile, ServerSettings, not_empty, read_adapter_file
from tenure.kubernetes.api.object_caches import unfollowed_collections
from tenure.kubernetes.choices import EvictionMode, WorkloadApi
from tenure.kubernetes.limits.user_queues import UserQueueRules
from tenure.kubernetes.objects import names
from tenure.kubernetes.observe.snapshot_scope import QueueAccess, SnapshotScope
from tenure.kubernetes.owners.kinds import Factor, OwnerKind, OwnerKinds, RoleRow, built_in_kinds
from tenure.process.configuration import Sections
from tenure.process.values import ConfigSection, TelemetrySection, duration_value, parse_empty_section
from tenure.terms.durations import SECOND

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")
_SHORTEST_LEASE: Final = 3.0
_SHORTEST_ESTIMATE: Final = 60.0


def _seconds(value: object) -> float:
    return duration_value(value) / SECOND


def _estimate_seconds(value: float) -> float:
    if value < _SHORTEST_ESTIMATE:
        raise ValueError("must be at least 1m")
    return value


def _lease_seconds(value: float) -> float:
    if value < _SHORTEST_LEASE:
        raise ValueError("must be at least 3s")
    return value


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be at most 52 lower-case letters, digits and hyphens")
    return value


_MOST_KINDS: Final = 100
_MOST_USERS: Final = 1_000
Seconds = Annotated[float, BeforeValidator(_seconds)]
Name = Annotated[str, AfterValidator(_name)]


class QueueAccessSettings(ConfigSection):
    """The section `adapter.queueAccess`: which namespaces may use which queue."""

    default: Literal["allow", "deny"] = "allow"
    """Queues without an entry in `namespaces`."""
    namespaces: dict[str, tuple[str, ...]] = {}
    """Patterns of namespaces, by queue."""
    namespace_labels: bool = False
    """Whether each queue requires a pattern, or a label `queues.tenure.scheduler/QUEUE` of the namespace."""


class UserQueueSettings(ConfigSection):
    """The section `adapter.userQueues`: queues of users below those of their team."""

    queues: Annotated[tuple[Annotated[str, AfterValidator(not_empty)], ...], Field(min_length=1)]
    """Patterns of the leaf queues below which each user has a queue."""
    annotation: Annotated[str, AfterValidator(not_empty)] | None = None
    """Annotation of pods with the user. None: users are namespaces."""
    max_users: Annotated[int, Field(ge=1, le=_MOST_USERS)] = 100
    """Maximum number of users of a queue."""


class AdapterSettings(ServerSettings):
    """The section `adapter`. Keys are in camel case, durations as in `15s`."""

    model_config = ConfigDict(populate_by_name=True)

    kubeconfig: Path | None = None
    """None: service account of the pod, else the file that kubectl uses."""
    context: str | None = None
    """Context of the kubeconfig. None: its current context."""
    node_pool_label: str = names.NODE_POOL
    """Label with the node pool. Empty: all nodes, queues and pod groups belong to one pool."""
    scheduler_name: Annotated[str, AfterValidator(not_empty)] = "kai-scheduler"
    """Pods with this schedulerName are scheduled. The default is that of KAI-Scheduler."""
    workload_api: WorkloadApi = WorkloadApi.AUTO
    derive_pod_groups: bool = True
    """Whether pods without a pod group get one that is derived from their owner."""
    owner_kinds: Annotated[tuple[OwnerKind, ...], Field(max_length=_MOST_KINDS)] = ()
    """Further kinds of owners, which replace those of the table with the same name."""
    default_queue: str = "default-queue"
    """Queue of derived pod groups without a queue."""
    queue_access: Annotated[QueueAccessSettings, BeforeValidator(parse_empty_section)] = QueueAccessSettings()
    """Which namespaces may use which queue."""
    user_queues: UserQueueSettings | None = None
    """Queues of users. None: there are none."""
    priority_classes: tuple[str, ...] = ("*",)
    """Patterns of the priority classes that labels and pod groups may name."""
    allocate_devices: bool = False
    """Whether to allocate devices to resource claims. Then nothing else in the cluster may."""
    eviction_mode: EvictionMode = EvictionMode.EVICTION
    namespace: Annotated[str, AfterValidator(_name)] = "tenure-system"
    """Namespace of the lease and the journal. It must exist."""
    lease_name: Name | None = None
    """None: `tenure` or `tenure-NODEPOOL`. The journal is ConfigMap `NAME-journal`."""
    estimate_starts: Annotated[Seconds, AfterValidator(_estimate_seconds)] | None = None
    """How often conditions tell when pod groups that wait start. None: never."""
    lease_duration: Annotated[Seconds, AfterValidator(_lease_seconds)] = 15.0
    """How long a silent leader keeps the lease."""

    @field_validator("owner_kinds")
    @classmethod
    def _check_owner_kinds(cls, value: tuple[OwnerKind, ...]) -> tuple[OwnerKind, ...]:
        names = [(row.api_group, row.kind) for row in value]
        twice = [kind for group, kind in names if names.count((group, kind)) > 1]
        if twice:
            raise ValueError(f"the kind {twice[0]!r} occurs twice in one API group")
        return value

    @model_validator(mode="after")
    def _check_lease_name(self) -> Self:
        if self.lease_name is None and self.node_pool and not _NAME.fullmatch(f"tenure-{self.node_pool}"):
            raise ValueError(
                f"node pool {self.node_pool!r} is not a valid part of a lease name; set leaseName"
            )
        return self

    @property
    def lease(self) -> str:
        """Name of the lease. Each node pool has its own."""
        return self.lease_name or (f"tenure-{self.node_pool}" if self.node_pool else "tenure")

    def snapshot_scope(self) -> SnapshotScope:
        """The observed part of the cluster."""
        return SnapshotScope(
            cluster_id=self.cluster_id,
            scheduler_name=self.scheduler_name,
            node_pool=self.node_pool,
            node_pool_label=self.node_pool_label,
            derive=self.derive_pod_groups,
            default_queue=self.default_queue,
            queue_access=QueueAccess(
                self.queue_access.namespaces,
                self.queue_access.namespace_labels,
                self.queue_access.default == "deny",
            ),
            user_queues=self._user_queue_rules(),
            priority_classes=self.priority_classes,
            has_budgets=self.eviction_mode is not EvictionMode.DELETE,
        )

    def _user_queue_rules(self) -> UserQueueRules:
        """Rules of the section `userQueues`."""
        chosen = self.user_queues
        if chosen is None:
            return UserQueueRules()
        return UserQueueRules(chosen.queues, chosen.annotation or "", chosen.max_users)

    def all_owner_kinds(self) -> OwnerKinds:
        """The table of the kinds of owners, with further ones."""
        return built_in_kinds().extended(self.owner_kinds)

    def unfollowed_collections(self) -> frozenset[str]:
        """Collections that the adapter does not observe."""
        without = unfollowed_collections(self.workload_api)
        if self.queue_access.namespace_labels:
            without -= {"namespaces"}
        if self.allocate_devices:
            without -= {"resource_slices", "device_taint_rules"}
        return without


_SECTION: Final = "adapter"


class _File(AdapterFile):
    adapter: AdapterSettings


_SECTIONS: Final[Sections] = {
    (_SECTION,): AdapterSettings,
    (_SECTION, "queueAccess"): QueueAccessSettings,
    (_SECTION, "userQueues"): UserQueueSettings,
    (_SECTION, "ownerKinds"): OwnerKind,
    (_SECTION, "ownerKinds", "roles"): RoleRow,
    (_SECTION, "ownerKinds", "roles", "size"): Factor,
}


class AdapterConfiguration(NamedTuple):
    """Settings from the configuration file and the command line."""

    adapter: AdapterSettings
    telemetry: TelemetrySection


def load_adapter_settings(file: Path | None, overrides: Mapping[str, object]) -> AdapterConfiguration:
    """Read the settings of a file, if there is one, and of the command line, which has precedence.

    `overrides` are fields of AdapterSettings; None is not set. Raises ConfigurationError with all errors.
    """
    read = read_adapter_file(file, overrides, _File, _SECTION, _SECTIONS, _missing)
    return AdapterConfiguration(read.adapter, read.adapter_telemetry)


def _missing(path: str) -> str:
    """A missing key of the section itself can be set on the command line instead."""
    key = path.removeprefix(f"{_SECTION}.")
    if not key.isalpha():
        return "is missing"
    flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
    return f"is missing; set it here or as --{flag}"
