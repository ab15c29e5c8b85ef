"""The adapter: waits for the lease, leads, and waits again.

    lease won ──► term: list, watch, rounds ──► somebody else had the lease ──► wait for it again
                                            └──► told to stop: finish the round, give the lease back

Of several adapters of one node pool one leads and the others wait, without a copy of the cluster: to begin,
all is read anyway. A process that is killed leaves the lease to run out; one that is told to stop gives it
back, and the next one leads at once.
"""

import logging
import os
import socket
import threading
import time
from typing import Final
from uuid import uuid4

from tenure.client.client import Client
from tenure.integration.backoff import Backoff
from tenure.integration.clock import Clock
from tenure.integration.health import Health
from tenure.kubernetes.api.api_errors import ApiError
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.leader_election import SAFETY_PART, LeaderElector
from tenure.kubernetes.leadership_term import LeadershipTerm
from tenure.kubernetes.settings import AdapterSettings

_LOOK_SECONDS: Final = 0.2
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 60.0
_LEASE_END_SECONDS: Final = 5.0
_PART_FOR_A_WRITE: Final = 0.8
_LOG: Final = logging.getLogger(__name__)


def write_seconds(lease_duration: float) -> float:
    """How long a write may take at most, so that it has arrived when another adapter may begin to lead."""
    return lease_duration * SAFETY_PART * _PART_FOR_A_WRITE


class Adapter:
    """`run` until `stop` is called from a signal handler or another thread.

    `writing` should give up on a call within the time that the lease leaves to a write: `write_seconds`.
    """

    def __init__(
        self, settings: AdapterSettings, reading: Transport, writing: Transport, client: Client
    ) -> None:
        self._settings, self._reading, self._writing, self._client = settings, reading, writing, client
        self._identity = f"{socket.gethostname()}_{os.getpid()}_{uuid4().hex[:8]}"
        self._elector = LeaderElector(
            writing,
            settings.namespace,
            settings.lease,
            self._identity,
            settings.lease_duration,
            on_lost=self._stop_leading,
        )
        self._lease_thread = threading.Thread(target=self._elector.run, name="tenure-lease", daemon=True)
        self._now = Clock(writing.clock)
        self._term: LeadershipTerm | None = None
        self._problem = ""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._stopped = threading.Event()

    def health(self) -> Health:
        """For probes."""
        if self._lease_thread.ident is not None and not self._lease_thread.is_alive():
            return Health(stuck="" if self._stopped.is_set() else "the lease is not renewed any more")
        term = self._term
        if term is not None and term.stuck:
            return Health(stuck=term.stuck)
        return Health(waiting_for=self._problem or self._elector.problem or (term.problem if term else ""))

    def stop(self) -> None:
        """Let `run` return after the round that is under way."""
        self._stopped.set()
        if self._term is not None:
            self._term.stop()

    def _stop_leading(self) -> None:
        """Somebody else leads: what is known of the cluster is of no use any more."""
        term = self._term
        if term is not None:
            term.stop()

    def run(self) -> None:
        """Lead whenever the lease is to be had, until stopped. Raises JournalUnreadable."""
        self._lease_thread.start()
        try:
            while not self._stopped.wait(_LOOK_SECONDS):
                if self._elector.is_leader:
                    self._run_term()
        finally:
            self._elector.stop()
            self._lease_thread.join(_LEASE_END_SECONDS)

    def _run_term(self) -> None:
        self._term = LeadershipTerm(
            self._settings,
            self._reading,
            self._writing,
            self._client,
            self._elector,
            self._identity,
            self._now,
        )
        _LOG.info("%s leads.", self._identity)
        began = time.monotonic()
        try:
            if not self._stopped.is_set():
                self._term.run()
            self._problem = ""
        except ApiError as failure:
            self._problem = str(failure)
            _LOG.warning("Cannot lead: %s", failure)
            if time.monotonic() >= began + _LONGEST_PAUSE:
                self._backoff.reset()
            self._stopped.wait(self._backoff.fail())
        finally:
            self._term = None
        _LOG.info("%s leads no more.", self._identity)
