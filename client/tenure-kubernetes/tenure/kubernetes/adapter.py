"""The Kubernetes adapter: ports of the integration kit on an API server, and the lease that elects a leader.

A process that is killed lets its lease expire. A process that is stopped releases it, and the next adapter
leads at once.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final
from uuid import uuid4

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.integration.adapter_loop import AdapterLoop
from tenure.integration.health import Health
from tenure.integration.leadership_term import TermControl
from tenure.integration.reconciler import ClusterPorts
from tenure.integration.timing import Clock
from tenure.kubernetes.api.object_caches import ApiDiscovery, ObjectCaches
from tenure.kubernetes.api.transport import LeaderTransport, Transport
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.applier import PodApplier
from tenure.kubernetes.apply.claim_reserver import ClaimReserver
from tenure.kubernetes.apply.device_allocator import DeviceAllocator
from tenure.kubernetes.apply.events import AdapterIdentity
from tenure.kubernetes.apply.owner_writes import OwnerWriter
from tenure.kubernetes.apply.ownership import Ownership
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.apply.volume_binder import VolumeBinder
from tenure.kubernetes.device_lease import DeviceLease
from tenure.kubernetes.devices.pod_claims import PodClaims
from tenure.kubernetes.journal_store import ConfigMapStore
from tenure.kubernetes.leader_election import SAFETY_PART, LeaderElector
from tenure.kubernetes.limits.server_refusals import server_limits
from tenure.kubernetes.limits.set_aside import COUNTED, SetAsideObject
from tenure.kubernetes.objects.meta import ObjectReference
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.observe.snapshot_scope import SnapshotScope
from tenure.kubernetes.observe.stored_annotations import StoredAnnotations, new_key
from tenure.kubernetes.owners.chains import OwnerLookup
from tenure.kubernetes.owners.lookup import ApiOwnerLookup
from tenure.kubernetes.settings import AdapterSettings
from tenure.kubernetes.telemetry import SET_ASIDE
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta
from tenure.wire.row_limits import SenderLimits

_LEASE_END_SECONDS: Final = 5.0
_MAX_WARNINGS: Final = 100
"""Maximum number of warnings that are logged at once."""
_WRITE_PART: Final = 0.8
_SECOND: Final = 10**9
_NO_API: Final = "The API server serves neither KAI nor Volcano queues: install their CRDs."
_LOG: Final = logging.getLogger(__name__)


def write_seconds(lease_duration: float) -> float:
    """Maximum duration of a write, so that it has arrived before another adapter may lead."""
    return lease_duration * SAFETY_PART * _WRITE_PART


class LoggingSnapshotBuilder(SnapshotBuilder):
    """Asks the server for its limits before each full snapshot, and reports warnings and set-aside objects.

    `publish` is called with objects that were set aside; it returns at once.
    """

    def __init__(
        self,
        caches: ObjectCaches,
        config: SnapshotScope,
        owners: OwnerLookup,
        stored: StoredAnnotations,
        read_limits: Callable[[], SenderLimits | None],
    ) -> None:
        super().__init__(caches, config, owners, stored)
        self._read_limits = read_limits
        self.publish: Callable[[Sequence[SetAsideObject]], None] | None = None

    def snapshot(self, now: Timestamp) -> ClusterSnapshot:
        """All rows."""
        if (limits := self._read_limits()) is not None:
            self.use_limits(limits)
        rows = super().snapshot(now)
        self._report()
        return rows

    def delta(self, now: Timestamp) -> StateDelta:
        """Changed rows."""
        rows = super().delta(now)
        self._report()
        return rows

    def _report(self) -> None:
        new = self.warnings.take_new()
        for warning in new[:_MAX_WARNINGS]:
            _LOG.warning("%s: %s", warning.subject, warning.text)
        if len(new) > _MAX_WARNINGS:
            _LOG.warning("... and %d more warnings about objects", len(new) - _MAX_WARNINGS)
        if (objects := self.set_aside.take_new()) and self.publish is not None:
            self.publish(objects)
        counts = self.set_aside.counts()
        for kind, reason in COUNTED:
            SET_ASIDE.set(counts.get((kind, reason), 0), {"kind": kind, "reason": reason})


class KubernetesObservation:
    """Object caches and the threads that follow the API server."""

    def __init__(self, caches: ObjectCaches, ports: ClusterPorts) -> None:
        self._caches, self.ports = caches, ports
        self.threads: list[threading.Thread] = []

    @property
    def problem(self) -> str:
        """Why the object caches may be out of date; "": they are not."""
        return self._caches.problem

    @property
    def stuck(self) -> str:
        """Why only a restart helps; "": not stuck."""
        is_dead = any(not thread.is_alive() for thread in self.threads)
        return "the cluster is no longer observed" if is_dead else ""


class KubernetesConnection:
    """Opens the ports for each leadership term. `identity` names the adapter in events."""

    def __init__(
        self,
        settings: AdapterSettings,
        reading: Transport,
        writing: Transport,
        identity: str,
        read_limits: Callable[[], SenderLimits | None],
    ) -> None:
        self._settings, self._reading, self._writing = settings, reading, writing
        self._identity, self._read_limits = identity, read_limits
        self._store: ConfigMapStore | None = None
        """The journal of the current term."""

    def journal_store(self, term: TermControl) -> ConfigMapStore:
        """The ConfigMap of the journal."""
        settings = self._settings
        self._store = ConfigMapStore(self._writing, settings.namespace, settings.lease, term.may_act)
        return self._store

    @contextmanager
    def observe(self, term: TermControl) -> Iterator[KubernetesObservation]:
        """List and watch all collections. Raises ApiError."""
        with ExitStack() as ends:
            caches = ObjectCaches.create(term.wake)
            observation = KubernetesObservation(caches, self.open_ports(term, caches, ends))
            excluded = self._settings.unfollowed_collections()
            reflectors = caches.follow(self._reading, excluded)
            if not {"kai_queues", "volcano_queues"} & caches.followed_collections.keys():
                _LOG.warning(_NO_API)
            for reflector in reflectors:
                observation.threads.append(_start(reflector.run, "tenure-follow"))
                ends.callback(reflector.stop)
            discovery = ApiDiscovery(self._reading, excluded, caches.followed_collections, term.stop)
            _start(discovery.run, "tenure-kinds")
            ends.callback(discovery.stop)
            ends.callback(observation.threads.clear)
            yield observation

    def open_ports(self, term: TermControl, caches: ObjectCaches, ends: ExitStack) -> ClusterPorts:
        """The ports on object caches; `ends` closes them."""
        settings, may_act = self._settings, term.may_act
        stored = StoredAnnotations(self._store.signing_key if self._store else new_key())
        kinds, scope = settings.all_owner_kinds(), settings.snapshot_scope()
        owners = ApiOwnerLookup(self._reading, kinds=kinds, find_pod=caches.pods.find)
        builder = LoggingSnapshotBuilder(caches, scope, owners, stored, self._read_limits)
        writer = PodWriter(self._writing, may_act, settings.eviction_mode)
        ownership = Ownership(caches, builder, settings.scheduler_name)
        annotations = AnnotationWriter(self._writing, caches, builder, ownership, stored, may_act)
        ends.callback(annotations.close)
        lease = ObjectReference("coordination.k8s.io/v1", "Lease", settings.namespace, settings.lease, "")
        identity = AdapterIdentity(settings.node_pool, self._identity, lease)
        status = StatusWriter(self._writing, caches, builder, ownership, may_act, identity)
        builder.publish = status.report_set_aside
        _start(status.run, "tenure-status")
        ends.callback(status.stop)
        applier = PodApplier(writer, caches, ownership, OwnerWriter(self._writing, kinds, may_act))
        binding = LeaderTransport(self._writing, may_act)
        binder = VolumeBinder(binding, caches, builder.volumes, self._now)
        allocator = self._device_allocator(term, caches, builder.claims, ends)
        reserver = ClaimReserver(binding, caches, builder.claims, binder, allocator)
        aside, interval = builder.on_set_aside, self._settings.estimate_starts
        finished = builder.finished_runs.take
        return ClusterPorts(
            *(builder, applier, annotations, status, reserver, aside, interval), take_finished=finished
        )

    def _now(self) -> float:
        """Seconds since 1970, by the clock of the API server."""
        return self._writing.clock.read() / _SECOND

    def _device_allocator(
        self,
        term: TermControl,
        caches: ObjectCaches,
        claims: PodClaims,
        ends: ExitStack,
    ) -> DeviceAllocator:
        """The allocator of devices, and its lease, if the settings ask for it."""
        settings, followed = self._settings, caches.followed_collections
        installation = f"{settings.namespace}/{settings.lease}"
        lease = DeviceLease(
            *(self._writing, installation, settings.lease_duration, followed),
            *(term.may_act, term.wake, term.stop),
        )
        if settings.allocate_devices:
            claims.allocator_problem = lease.problem
            _start(lease.run, "tenure-device-lease")
            ends.callback(lease.stop)
        transport = LeaderTransport(self._writing, lease.may_act)
        return DeviceAllocator(transport, caches.pods.find, claims, installation, self._now)


class Adapter:
    """Call `run` once; call `stop` from a signal handler or another thread.

    `writing` gives up on a call within the time that the lease leaves to a write: `write_seconds`.
    """

    def __init__(
        self, settings: AdapterSettings, reading: Transport, writing: Transport, client: Client
    ) -> None:
        identity = f"{socket.gethostname()}_{os.getpid()}_{uuid4().hex[:8]}"
        self._elector = LeaderElector(
            writing,
            settings.namespace,
            settings.lease,
            identity,
            settings.lease_duration,
            on_lost=self._end_term,
        )
        self._lease_thread = threading.Thread(target=self._elector.run, name="tenure-lease", daemon=True)
        read_limits = partial(server_limits, client)
        connection = KubernetesConnection(settings, reading, writing, identity, read_limits)
        self._loop = AdapterLoop(connection, client, self._elector, Clock(writing.clock), identity)

    def health(self) -> Health:
        """Health for probes."""
        if self._lease_thread.ident is not None and not self._lease_thread.is_alive():
            return Health(stuck="" if self._loop.is_stopped else "the lease is no longer renewed")
        if self._loop.stuck:
            return Health(stuck=self._loop.stuck)
        return Health(waiting_for=self._elector.problem or self._loop.problem)

    def stop(self) -> None:
        """Return from `run` after the current reconcile."""
        self._loop.stop()

    def _end_term(self) -> None:
        self._loop.end_term()

    def run(self) -> None:
        """Lead whenever the lease is free, until stopped; then release it. Raises JournalUnreadable."""
        self._lease_thread.start()
        try:
            self._loop.run()
        finally:
            self._elector.stop()
            self._lease_thread.join(_LEASE_END_SECONDS)


def _start(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread
