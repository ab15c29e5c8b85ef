"""What happens while one adapter leads, from when it has the lease to when somebody else had it.

Everything that is known of the cluster is read after the lease was won, so it includes all that the adapter
before did: that one sends nothing any more. If the lease is out of reach for a while, rounds wait; when it
comes back and nobody had it in between, they go on.

When the next round begins: soon after something changed, or when time alone may change the answer.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from tenure.client.client import Client
from tenure.client.errors import TenureError
from tenure.client.session import StateSession
from tenure.integration.backoff import Backoff
from tenure.integration.clock import Clock
from tenure.kubernetes.api.api_discovery import ApiDiscovery
from tenure.kubernetes.api.api_errors import ApiError, Conflict, LeaseLost
from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.apply.annotations import AnnotationWriter
from tenure.kubernetes.apply.applier import Applier
from tenure.kubernetes.apply.pod_writes import PodWriter
from tenure.kubernetes.apply.status_writer import StatusWriter
from tenure.kubernetes.dry_run import unfollowed_collections
from tenure.kubernetes.journal import Journal
from tenure.kubernetes.journal_store import JournalFull, JournalStore
from tenure.kubernetes.leader_election import LeaderElector
from tenure.kubernetes.observe.owners import ApiOwnerLookup
from tenure.kubernetes.observe.snapshot_builder import SnapshotBuilder
from tenure.kubernetes.reconciler import Reconciler
from tenure.kubernetes.settings import AdapterSettings
from tenure.kubernetes.telemetry import LAG, RECONCILES

QUIET_SECONDS: Final = 0.1
"""Changes come in bursts, a job's pods or the effects of what was applied: they are waited for this long."""


class WakeTimer:
    """Wakes one thread. Others call `ring`, any number of times."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._woken_at: float | None = None

    def wake(self) -> None:
        """Something changed. Returns at once."""
        if self._woken_at is None:
            self._woken_at = time.monotonic()
        self._event.set()

    def take_wake_time(self) -> float | None:
        """When it rang first since this was asked last, by the monotonic clock; None: it did not."""
        heard, self._woken_at = self._woken_at, None
        return heard

    def wait(self, seconds: float | None) -> None:
        """Return soon after a ring, or after some seconds; None: after a ring only."""
        if self._event.wait(None if seconds is None else max(seconds, QUIET_SECONDS)):
            time.sleep(QUIET_SECONDS)
            self._event.clear()


_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether mirrors and lease are there again."""
_SERVER_SECONDS: Final = 30.0
_NO_API: Final = "neither KAI's nor Volcano's queues are served by the API server: install their CRDs"
_LOG: Final = logging.getLogger(__name__)


class LeadershipTerm:
    """One turn of leading. `run` once; `stop` from any thread."""

    def __init__(
        self,
        settings: AdapterSettings,
        reading: Transport,
        writing: Transport,
        client: Client,
        elector: LeaderElector,
        identity: str,
        now: Clock,
    ) -> None:
        self._settings, self._reading, self._writing = settings, reading, writing
        self._client = client
        self._elector, self._identity, self._now = elector, identity, now
        self._transitions = elector.transitions
        self._wake_timer = WakeTimer()
        self._stopped = threading.Event()
        self._observed_at: float | None = None
        """When something was heard that was not acted upon yet, by the monotonic clock."""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._problem = "the cluster is not listed yet"
        self._following: list[threading.Thread] = []

    @property
    def stuck(self) -> str:
        """What only a restart mends: a thread that should go on as long as this term, and does not."""
        is_dead = any(not thread.is_alive() for thread in list(self._following))
        return "the cluster is not observed any more" if is_dead else ""

    @property
    def problem(self) -> str:
        """Why nothing is decided just now; empty: rounds go on."""
        return self._problem

    def stop(self) -> None:
        """Let `run` return after the round that is under way."""
        self._stopped.set()
        self._wake_timer.wake()

    def run(self) -> None:
        """Rounds until stopped, until there are more kinds to follow, or until somebody else had the lease.

        Raises ApiError and JournalUnreadable.
        """
        with ExitStack() as ends:
            mirrors = ObjectCaches.create(self._wake_timer.wake)
            store = JournalStore(
                self._writing, self._settings.namespace, self._settings.lease, self._is_current_leader
            )
            ledger = store.load()  # first: if it cannot be read, there is no use in listing a cluster
            self._follow(mirrors, ends)
            rounds = self._build_reconciler(mirrors, store, ledger, ends)
            while self._is_active():
                if not self._is_ready(mirrors):
                    self._stopped.wait(_LOOK_SECONDS)
                    continue
                pause = self._reconcile(rounds)
                if pause:
                    self._stopped.wait(pause)
                else:
                    self._wake_timer.wait(self._now.remaining(rounds.next_reconcile_seconds))

    def _is_active(self) -> bool:
        if self._stopped.is_set() or self._elector.has_other_leader:
            return False
        return not self._elector.is_leader or self._elector.transitions == self._transitions

    def _is_ready(self, caches: ObjectCaches) -> bool:
        if not self._elector.is_leader:
            self._problem = "the lease could not be renewed"
        else:
            self._problem = caches.problem
        return not self._problem

    def _reconcile(self, reconciler: Reconciler) -> float:
        """One round; seconds to wait before the next whatever happens, 0 after one that went well."""
        heard = self._wake_timer.take_wake_time()
        self._observed_at = self._observed_at or heard
        try:
            has_decided = reconciler.run_once()
        except LeaseLost:
            _count("lease_lost")
            self._backoff.reset()
            return self._backoff.fail()
        except Conflict:
            _count("conflict")
            raise  # somebody else wrote the ledger: all is read anew
        except (TenureError, ApiError, JournalFull) as failure:
            _count(_metric_label(failure))
            said = str(failure) or "the ledger is full: groups that are under way must end first"
            if said != self._problem:
                _LOG.warning("This round came to nothing: %s", said)
            self._problem = said
            return self._backoff.fail()
        self._problem = ""
        self._backoff.reset()
        self._measure(has_decided)
        return 0.0

    def _measure(self, has_decided: bool) -> None:
        """Count a round that went well, and how long it took to act upon what was heard."""
        _count("decided" if has_decided else "unchanged")
        if has_decided and self._observed_at is not None:
            LAG.record(time.monotonic() - self._observed_at)
        self._observed_at = None

    def _follow(self, caches: ObjectCaches, ends: ExitStack) -> None:
        """Begin to observe; everything is listed afresh."""
        without = unfollowed_collections(self._settings.workload_api)
        reflectors = caches.follow(self._reading, without)
        if not {"kai_queues", "volcano_queues"} & caches.followed_collections:
            _LOG.warning(_NO_API)
        for reflector in reflectors:
            self._following.append(_run(reflector.run, "tenure-follow"))
            ends.callback(reflector.stop)
        kinds = ApiDiscovery(self._reading, without, frozenset(caches.followed_collections), self.stop)
        _run(kinds.run, "tenure-kinds")
        ends.callback(kinds.stop)
        ends.callback(self._following.clear)

    def _build_reconciler(
        self, caches: ObjectCaches, store: JournalStore, journal: Journal, ends: ExitStack
    ) -> Reconciler:
        settings, may_act = self._settings, self._is_current_leader
        calls = PodWriter(self._writing, may_act, settings.eviction_mode)
        applier = Applier(calls, caches, settings.scheduler_name, self._now)
        ends.callback(applier.close)
        teller = StatusWriter(self._writing, caches, may_act, settings.node_pool, self._identity)
        _run(teller.run, "tenure-tell")
        ends.callback(teller.stop)
        session = ends.enter_context(StateSession(self._client, timeout=_SERVER_SECONDS))
        picture = SnapshotBuilder(caches, settings.snapshot_scope(), ApiOwnerLookup(self._reading))
        annotations = AnnotationWriter(self._writing, may_act)
        ends.callback(annotations.close)
        return Reconciler(
            settings,
            self._client,
            session,
            caches,
            picture,
            journal,
            store,
            applier,
            annotations,
            teller,
            self._now,
        )

    def _is_current_leader(self) -> bool:
        """Whether a write may be sent: nobody else had the lease since this term began."""
        return self._elector.is_leader and self._elector.transitions == self._transitions


def _count(result: str) -> None:
    RECONCILES.add(1, {"result": result})


def _metric_label(failure: TenureError | ApiError | JournalFull) -> str:
    if isinstance(failure, JournalFull):
        return "journal_full"
    return "api_server_failed" if isinstance(failure, ApiError) else "server_failed"


def _run(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread
