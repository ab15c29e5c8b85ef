"""What happens while one adapter leads, from when it has the lease to when somebody else had it.

Everything that is known of the cluster is read after the lease was won, so it includes all that the adapter
before did: that one sends nothing any more. If the lease is out of reach for a while, rounds wait; when it
comes back and nobody had it in between, they go on.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from tenure.client.client import Client
from tenure.client.errors import TenureError
from tenure.client.kubernetes.apply.annotations import Annotations
from tenure.client.kubernetes.apply.applier import Applier
from tenure.client.kubernetes.apply.calls import Calls
from tenure.client.kubernetes.apply.telling import Teller
from tenure.client.kubernetes.clock import Clock
from tenure.client.kubernetes.dryrun import left_out
from tenure.client.kubernetes.failures import ApiFailure, Conflict, LeaseLost
from tenure.client.kubernetes.kinds import NewKinds
from tenure.client.kubernetes.leading import Leading
from tenure.client.kubernetes.ledger.ledger import Ledger
from tenure.client.kubernetes.ledger.store import LedgerFull, Store
from tenure.client.kubernetes.metrics import LAG, ROUNDS
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.owners import ApiOwners
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.round import Rounds
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.client.kubernetes.transport import Transport
from tenure.client.kubernetes.waking import Alarm
from tenure.client.session import StateSession

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_LOOK_SECONDS: Final = 0.5
"""How often it is looked whether mirrors and lease are there again."""
_SERVER_SECONDS: Final = 30.0
_NO_API: Final = "neither KAI's nor Volcano's queues are served by the API server: install their CRDs"
_LOG: Final = logging.getLogger(__name__)


class Term:
    """One turn of leading. `run` once; `stop` from any thread."""

    def __init__(
        self,
        settings: AdapterSettings,
        reading: Transport,
        writing: Transport,
        client: Client,
        leading: Leading,
        identity: str,
        now: Clock,
    ) -> None:
        self._settings, self._reading, self._writing = settings, reading, writing
        self._client = client
        self._leading, self._identity, self._now = leading, identity, now
        self._transitions = leading.transitions
        self._alarm = Alarm()
        self._stopped = threading.Event()
        self._heard: float | None = None
        """When something was heard that was not acted upon yet, by the monotonic clock."""
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
        self._alarm.ring()

    def run(self) -> None:
        """Rounds until stopped, until there are more kinds to follow, or until somebody else had the lease.

        Raises ApiFailure and LedgerUnreadable.
        """
        with ExitStack() as ends:
            mirrors = Mirrors.waking(self._alarm.ring)
            store = Store(self._writing, self._settings.namespace, self._settings.lease, self._leading_us)
            ledger = store.load()  # first: if it cannot be read, there is no use in listing a cluster
            self._follow(mirrors, ends)
            rounds = self._rounds(mirrors, store, ledger, ends)
            pause = 0.0
            while self._goes_on():
                if not self._is_able(mirrors):
                    self._stopped.wait(_LOOK_SECONDS)
                    continue
                pause = self._round(rounds, pause)
                if pause:
                    self._stopped.wait(pause)
                else:
                    self._alarm.wait(self._now.left(rounds.next_seconds))

    def _goes_on(self) -> bool:
        if self._stopped.is_set() or self._leading.is_elsewhere:
            return False
        return not self._leading.may_act or self._leading.transitions == self._transitions

    def _is_able(self, mirrors: Mirrors) -> bool:
        if not self._leading.may_act:
            self._problem = "the lease could not be renewed"
        else:
            self._problem = mirrors.problem
        return not self._problem

    def _round(self, rounds: Rounds, pause: float) -> float:
        """One round; seconds to wait before the next whatever happens, 0 after one that went well."""
        heard = self._alarm.take_heard()
        self._heard = self._heard or heard
        try:
            has_decided = rounds.run_once()
        except LeaseLost:
            _count("lease_lost")
            return _LOOK_SECONDS
        except Conflict:
            _count("conflict")
            raise  # somebody else wrote the ledger: all is read anew
        except (TenureError, ApiFailure, LedgerFull) as failure:
            _count(_word_of(failure))
            said = str(failure) or "the ledger is full: groups that are under way must end first"
            if said != self._problem:
                _LOG.warning("This round came to nothing: %s", said)
            self._problem = said
            return min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE)
        self._problem = ""
        self._measure(has_decided)
        return 0.0

    def _measure(self, has_decided: bool) -> None:
        """Count a round that went well, and how long it took to act upon what was heard."""
        _count("decided" if has_decided else "nothing_new")
        if has_decided and self._heard is not None:
            LAG.record(time.monotonic() - self._heard)
        self._heard = None

    def _follow(self, mirrors: Mirrors, ends: ExitStack) -> None:
        """Begin to observe; everything is listed afresh."""
        without = left_out(self._settings.workload_api)
        reflectors = mirrors.follow(self._reading, without)
        if not {"kai_queues", "volcano_queues"} & mirrors.followed:
            _LOG.warning(_NO_API)
        for reflector in reflectors:
            self._following.append(_run(reflector.run, "tenure-follow"))
            ends.callback(reflector.stop)
        kinds = NewKinds(self._reading, without, frozenset(mirrors.followed), self.stop)
        _run(kinds.run, "tenure-kinds")
        ends.callback(kinds.stop)
        ends.callback(self._following.clear)

    def _rounds(self, mirrors: Mirrors, store: Store, ledger: Ledger, ends: ExitStack) -> Rounds:
        settings, may_act = self._settings, self._leading_us
        calls = Calls(self._writing, may_act, settings.eviction_mode)
        applier = Applier(calls, mirrors, settings.scheduler_name, self._now)
        ends.callback(applier.close)
        teller = Teller(self._writing, mirrors, may_act, settings.node_pool, self._identity)
        _run(teller.run, "tenure-tell")
        ends.callback(teller.stop)
        session = ends.enter_context(StateSession(self._client, timeout=_SERVER_SECONDS))
        picture = Picture(mirrors, settings.picture(), ApiOwners(self._reading))
        annotations = Annotations(self._writing, may_act)
        ends.callback(annotations.close)
        return Rounds(
            settings,
            self._client,
            session,
            mirrors,
            picture,
            ledger,
            store,
            applier,
            annotations,
            teller,
            self._now,
        )

    def _leading_us(self) -> bool:
        """Whether a write may be sent: nobody else had the lease since this term began."""
        return self._leading.may_act and self._leading.transitions == self._transitions


def _count(result: str) -> None:
    ROUNDS.add(1, {"result": result})


def _word_of(failure: TenureError | ApiFailure | LedgerFull) -> str:
    if isinstance(failure, LedgerFull):
        return "ledger_full"
    return "api_server_failed" if isinstance(failure, ApiFailure) else "server_failed"


def _run(work: Callable[[], None], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread
