"""A leadership term: reconciles from the acquisition of leadership until another adapter led.

Everything known about the cluster is read after leadership was acquired, so it includes all writes of the
predecessor. While leadership is uncertain, reconciles pause; they continue if no other adapter led in
between. A reconcile starts soon after a change, or when time alone may change the decisions.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Final, NamedTuple, Protocol

from tenure.client.client import Client
from tenure.client.errors import TenureError
from tenure.client.session import StateSession
from tenure.integration.journal_format import load_journal
from tenure.integration.ports import (
    ClusterError,
    JournalConflict,
    JournalFull,
    JournalStore,
    Leadership,
    LeaseLost,
)
from tenure.integration.reconciler import ClusterPorts, Reconciler
from tenure.integration.telemetry import LAG, RECONCILES
from tenure.integration.timing import Backoff, Clock, WakeTimer

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_READY_PAUSE: Final = 0.5
"""Seconds between checks whether observation and leadership are ready."""
_SERVER_SECONDS: Final = 30.0
_JOURNAL_FULL: Final = "the journal is full; waiting for in-flight groups to complete"
_LOG: Final = logging.getLogger(__name__)


class TermControl(NamedTuple):
    """What the parts of an adapter call during a term, from any thread."""

    may_act: Callable[[], bool]
    """Whether a write may be sent. False after another adapter led."""
    wake: Callable[[], None]
    """Report a change in the cluster. Returns at once."""
    stop: Callable[[], None]
    """End the term after the current reconcile, for example because other kinds must be observed."""


class Observation(Protocol):
    """An observed cluster, from the start of observation to the end of the term."""

    @property
    def ports(self) -> ClusterPorts:
        """The ports of the cluster."""

    @property
    def problem(self) -> str:
        """Why the observed cluster may be out of date; "": it is not. No reconcile runs meanwhile."""

    @property
    def stuck(self) -> str:
        """Why only a restart helps, for example an observing thread that died; "": not stuck."""


class SchedulerConnection(Protocol):
    """Opens the parts of an adapter for each term."""

    def journal_store(self, term: TermControl) -> JournalStore:
        """The store of the journal."""

    def observe(self, term: TermControl) -> AbstractContextManager[Observation]:
        """Start observation from scratch, and end it with the context. Raises ClusterError."""


class LeadershipTerm:
    """One term. Call `run` once; call `stop` from any thread."""

    def __init__(
        self, connection: SchedulerConnection, client: Client, leadership: Leadership, now: Clock
    ) -> None:
        self._connection, self._client = connection, client
        self._leadership, self._now = leadership, now
        self._term = leadership.term
        self._wake_timer = WakeTimer()
        self._stopped = threading.Event()
        self._observed_at: float | None = None
        """When the first change arrived that is not reconciled yet, by the monotonic clock."""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._problem = "the cluster is not listed yet"
        self._observation: Observation | None = None

    @property
    def stuck(self) -> str:
        """Why only a restart helps; "": not stuck."""
        observation = self._observation
        return observation.stuck if observation else ""

    @property
    def problem(self) -> str:
        """Why no decisions are made; "": reconciles succeed."""
        return self._problem

    def stop(self) -> None:
        """End the term after the current reconcile."""
        self._stopped.set()
        self._wake_timer.wake()

    def run(self) -> None:
        """Reconcile until stopped, or until another adapter led.

        Raises ClusterError, JournalConflict and JournalUnreadable.
        """
        control = TermControl(self._may_act, self._wake_timer.wake, self.stop)
        store = self._connection.journal_store(control)
        journal = load_journal(store)  # before observation, which is of no use without the journal
        with ExitStack() as ends:
            observation = ends.enter_context(self._connection.observe(control))
            self._observation = observation
            ends.callback(self._end_observation)
            on_set_aside = observation.ports.on_set_aside
            session = ends.enter_context(
                StateSession(self._client, timeout=_SERVER_SECONDS, on_set_aside=on_set_aside)
            )
            report = self._client.report_results
            reconciler = Reconciler(observation.ports, report, session, journal, store, self._now)
            ends.callback(reconciler.close)
            while self._is_active():
                if not self._is_ready(observation):
                    self._stopped.wait(_READY_PAUSE)
                    continue
                pause = self._reconcile(reconciler)
                if pause:
                    self._stopped.wait(pause)
                else:
                    self._wake_timer.wait(self._now.remaining(reconciler.next_reconcile_seconds))

    def _end_observation(self) -> None:
        self._observation = None

    def _is_active(self) -> bool:
        return not self._stopped.is_set() and self._is_own_term()

    def _is_ready(self, observation: Observation) -> bool:
        if not self._leadership.may_act():
            self._problem = "the lease could not be renewed"
        else:
            self._problem = observation.problem
        return not self._problem

    def _reconcile(self, reconciler: Reconciler) -> float:
        """Reconcile once. Returns the seconds to wait before the next reconcile; 0 after success."""
        woken_at = self._wake_timer.take_wake_time()
        self._observed_at = self._observed_at or woken_at
        try:
            has_decided = reconciler.run_once()
        except LeaseLost:
            _count("lease_lost")
            self._backoff.reset()
            return self._backoff.fail()
        except JournalConflict:
            _count("conflict")
            raise
        except (TenureError, ClusterError, JournalFull) as failure:
            _count(_metric_label(failure))
            problem = str(failure) or _JOURNAL_FULL
            if problem != self._problem:
                _LOG.warning("Reconcile failed, retrying: %s", problem)
            self._problem = problem
            return self._backoff.fail()
        self._problem = ""
        self._backoff.reset()
        self._measure(has_decided)
        return 0.0

    def _measure(self, has_decided: bool) -> None:
        _count("decided" if has_decided else "unchanged")
        if has_decided and self._observed_at is not None:
            LAG.record(time.monotonic() - self._observed_at)
        self._observed_at = None

    def _may_act(self) -> bool:
        return self._leadership.may_act() and self._is_own_term()

    def _is_own_term(self) -> bool:
        return self._term is not None and self._leadership.term == self._term


def _count(result: str) -> None:
    RECONCILES.add(1, {"result": result})


def _metric_label(failure: TenureError | ClusterError | JournalFull) -> str:
    if isinstance(failure, JournalFull):
        return "journal_full"
    return "api_server_failed" if isinstance(failure, ClusterError) else "server_failed"
