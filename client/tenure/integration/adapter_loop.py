"""The loop of an adapter: wait for leadership, lead for one term, wait again.

    leadership acquired ──► term: observe, reconcile ──► another adapter led ──► wait for leadership
                                                    └──► stopped: finish the reconcile

Of several adapters of one node pool one leads. The others stand by without a copy of the cluster, because a
term starts by reading everything.
"""

import logging
import threading
import time
from typing import Final

from tenure.client.client import Client
from tenure.integration.leadership_term import LeadershipTerm, SchedulerConnection
from tenure.integration.ports import ClusterError, JournalConflict, Leadership
from tenure.integration.timing import Backoff, Clock

_LEADERSHIP_PAUSE: Final = 0.2
"""Seconds between checks of leadership while standing by."""
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 60.0
_LOG: Final = logging.getLogger(__name__)


class AdapterLoop:
    """Call `run` once; call `stop` and `end_term` from a signal handler or another thread.

    `identity` names this adapter in log messages.
    """

    def __init__(
        self,
        connection: SchedulerConnection,
        client: Client,
        leadership: Leadership,
        now: Clock,
        identity: str,
    ) -> None:
        self._connection, self._client = connection, client
        self._leadership, self._now, self._identity = leadership, now, identity
        self._term: LeadershipTerm | None = None
        self._problem = ""
        self._backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        self._stopped = threading.Event()

    @property
    def problem(self) -> str:
        """What others must fix before the adapter can continue; "": nothing."""
        term = self._term
        return self._problem or (term.problem if term else "")

    @property
    def stuck(self) -> str:
        """Why only a restart helps; "": not stuck."""
        term = self._term
        return term.stuck if term else ""

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Return from `run` after the current reconcile."""
        self._stopped.set()
        self.end_term()

    def end_term(self) -> None:
        """End the current term, if there is one, because another adapter leads."""
        term = self._term
        if term is not None:
            term.stop()

    def run(self) -> None:
        """Lead whenever possible, until stopped. Raises JournalUnreadable."""
        while not self._stopped.wait(_LEADERSHIP_PAUSE):
            if self._leadership.may_act():
                self._run_term()

    def _run_term(self) -> None:
        self._term = LeadershipTerm(self._connection, self._client, self._leadership, self._now)
        _LOG.info("Acquired lease: %s", self._identity)
        began = time.monotonic()
        try:
            if not self._stopped.is_set():
                self._term.run()
            self._problem = ""
        except (ClusterError, JournalConflict) as failure:
            self._problem = str(failure)
            _LOG.warning("Leadership term failed, retrying: %s", failure)
            if time.monotonic() >= began + _LONGEST_PAUSE:
                self._backoff.reset()
            self._stopped.wait(self._backoff.fail())
        finally:
            self._term = None
        _LOG.info("Lost lease: %s", self._identity)
