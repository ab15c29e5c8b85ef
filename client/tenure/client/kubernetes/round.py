"""One round: what changed is told, a decision asked for, carried out, and what became of it reported.

    observe      rows of the picture and of the ledger, as a delta; after any doubt as a whole snapshot
    decide       what the server says of groups in flight is done first: what it lets go is not taken further
    remember     the ledger with the new groups is stored       <- a crash before: nothing was sent
    apply        evictions, bindings                            <- a crash: the ledger names them
    report       the server says what to store of each group    <- a crash: reported after the start,
                                                                   with what is seen done
    remember     the ledger with what became of the steps and what is to be stored; then annotations

A step that was sent, but whose answer nobody knows any more, is looked up before it is sent again. A group
that was reported twice is counted once by the server. An annotation that was not written stays noted.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.client.client import Client
from tenure.client.kubernetes import spans
from tenure.client.kubernetes.apply.annotations import Annotations
from tenure.client.kubernetes.apply.applier import Applier
from tenure.client.kubernetes.apply.telling import Teller
from tenure.client.kubernetes.failures import ApiFailure, LeaseLost
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.ledger.ledger import Ledger
from tenure.client.kubernetes.ledger.rows import LedgerRows
from tenure.client.kubernetes.ledger.store import LedgerFull, Store
from tenure.client.kubernetes.metrics import IN_FLIGHT, NOTES, RETRIES
from tenure.client.kubernetes.observe.mirrors import Mirrors
from tenure.client.kubernetes.observe.picture import Picture
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.client.kubernetes.spans import round_span, span
from tenure.client.session import StateSession
from tenure.v1.decision_service_pb2 import DecideResponse
from tenure.v1.outcome_pb2 import GROUP_FATE_CONFLICT, ReportOutcomeRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.v1.state_pb2 import StateDelta

_LOG: Final = logging.getLogger(__name__)
_LONGEST_PAUSE: Final = 60.0
_NOTES_PAUSE: Final = 10.0
_MOST_DOUBLINGS: Final = 6
MOST_UNDER_WAY: Final = 8_000
"""Groups at a time: a server takes 10,000 with a snapshot, unless it is told otherwise."""
Clock = Callable[[], Timestamp]


class Rounds:
    """Carries out one round after the other, for one thread. Raises what its parts raise."""

    def __init__(
        self,
        settings: AdapterSettings,
        client: Client,
        session: StateSession,
        mirrors: Mirrors,
        picture: Picture,
        ledger: Ledger,
        store: Store,
        applier: Applier,
        annotations: Annotations,
        teller: Teller,
        now: Clock,
    ) -> None:
        self._settings, self._client, self._session = settings, client, session
        self._mirrors, self._picture = mirrors, picture
        self._ledger, self._store = ledger, store
        self._rows = LedgerRows(ledger, picture)
        self._applier, self._annotations, self._teller = applier, annotations, teller
        self._now = now
        self._is_in_step = False
        """Whether the session holds what the picture told last. False: everything is sent again."""
        self._ask_at: float | None = None
        """When time alone may change the answer, in seconds since 1970."""
        self._is_owed = False
        """Whether a decision was asked for and something kept it from being carried out to the end."""
        self._notes_at: float | None = None
        """When annotations that could not be written are tried again, in seconds since 1970."""
        self._refusals = 0
        """Rounds in a row in which something of new groups was refused by the cluster, or left out."""

    @property
    def next_seconds(self) -> float | None:
        """When the next round is due though nothing changes, in seconds since 1970; None: never."""
        retries = (entry.retry_seconds() for entry in self._ledger.entries.values())
        times = [moment for moment in retries if moment is not None]
        own = (self._ask_at, self._notes_at, self._picture.look_again_seconds)
        times += [moment for moment in own if moment is not None]
        return min(times, default=None)

    def run_once(self) -> bool:
        """One round; whether a decision was asked for.

        Raises TenureError, ApiFailure, LedgerFull and LeaseLost; the next one goes on.
        """
        try:
            with round_span():
                now = self._now()
                is_due = self._is_due(now)
                has_reason = self._observe(now) or is_due
                if has_reason:
                    self._carry_out(self._decide(now))
                return has_reason
        finally:
            self._measure()

    def _measure(self) -> None:
        """Show what is left to be done."""
        IN_FLIGHT.set(len(self._ledger.entries))
        RETRIES.set(sum(entry.retry_seconds() is not None for entry in self._ledger.entries.values()))
        NOTES.set(sum(note.has_object for note in self._ledger.notes.values()))

    def _observe(self, now: Timestamp) -> bool:
        """Tell the server what changed; whether anything did. If that fails, all is told in the next one."""
        with span(spans.OBSERVE):
            was_in_step, self._is_in_step = self._is_in_step, False
            seen = self._picture.delta(now) if was_in_step else self._picture.snapshot(now)
            for warned in self._picture.warnings.take():
                _LOG.warning("%s: %s", warned.subject, warned.text)
            self._settle(now)
            self._applier.recognise(self._ledger.entries.values())
            self._report_if_it_fits()
            has_changed = self._send(seen)
            self._is_in_step = True
            return has_changed

    def _send(self, seen: ClusterSnapshot | StateDelta) -> bool:
        if isinstance(seen, ClusterSnapshot):
            self._rows.complete(seen)
            self._session.push(seen)
            return True
        self._rows.extend(seen)
        if _is_empty(seen):
            return False
        self._session.apply(seen)
        return True

    def _is_due(self, now: Timestamp) -> bool:
        due = self.next_seconds
        return self._is_owed or (due is not None and now.ToNanoseconds() >= due * 1e9)

    def _decide(self, now: Timestamp) -> DecideResponse:
        with span(spans.DECIDE):
            self._is_in_step = False
            answer = self._session.decide(now=now)
            self._is_in_step = True
        wakes = answer.HasField("next_wake_time")
        self._ask_at = answer.next_wake_time.ToNanoseconds() / 1e9 if wakes else None
        return answer

    def _carry_out(self, answer: DecideResponse) -> None:
        """Take the steps. What fails is decided anew in the next round, though nothing else changes."""
        self._is_owed = True
        self._ledger.follow(answer.in_flight_groups)
        wanted = [Entry(group) for group in answer.groups if group.id not in self._ledger.entries]
        new = self._take_up(wanted)
        self._remember(new)
        self._applier.apply(list(self._ledger.entries.values()))
        self._ask_again_if(len(new) < len(wanted) or any(entry.is_lost() for entry in new))
        self._teller.tell(answer, self._ledger.entries.values(), self._picture)
        self._report()
        self._is_owed = False

    def _take_up(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Add new groups to the ledger, in order, as many as server and ledger can hold; which these are.

        Those that keep a promise go first: it would be forgotten. One alone may take the whole ledger.
        """
        first = sorted(wanted, key=lambda entry: not entry.group.in_flight_group)
        new = first[: max(MOST_UNDER_WAY - len(self._ledger.entries), 0)]
        least = 0 if self._ledger.entries else 1
        self._applier.check(new)
        self._ledger.add(new)
        while len(new) > least and not self._store.has_room(self._ledger):
            self._ledger.withdraw(new[len(new) // 2 :])
            new = new[: len(new) // 2]
        return new

    def _ask_again_if(self, is_unfinished: bool) -> None:
        """What was refused or left out is decided anew, later each time, though nothing else changes."""
        self._refusals = self._refusals + 1 if is_unfinished else 0
        if self._refusals:
            pause = min(2.0 ** min(self._refusals - 1, _MOST_DOUBLINGS), _LONGEST_PAUSE)
            again = self._now().ToNanoseconds() / 1e9 + pause
            self._ask_at = again if self._ask_at is None else min(self._ask_at, again)

    def _remember(self, new: Sequence[Entry]) -> None:
        """Store the ledger before anything is sent; without that nothing of the new groups is."""
        if not self._ledger.is_changed:
            return
        with span(spans.REMEMBER, groups=len(new)):
            try:
                self._store.save(self._ledger)
            except (ApiFailure, LedgerFull, LeaseLost):
                self._ledger.withdraw(new)
                raise

    def _report_if_it_fits(self) -> None:
        """Report. What objects show and what is decided next make room in a ledger that is too large."""
        try:
            self._report()
        except LedgerFull:
            self._annotate()
            self._is_owed = True

    def _report(self) -> None:
        """Tell what became of steps; store what the server says is to be stored."""
        self._notes_at = None
        entries = self._ledger.untold()
        if not (entries or self._ledger.is_changed or self._ledger.notes):
            return
        with span(spans.REPORT, groups=len(entries)):
            self._tell_outcomes(entries)
            if self._ledger.is_changed:
                self._store.save(self._ledger)
            self._annotate()

    def _tell_outcomes(self, entries: Sequence[Entry]) -> None:
        if entries:
            reports, now = self._ledger.reports(entries), self._now()
            request = ReportOutcomeRequest(
                cluster_id=self._settings.cluster_id,
                node_pool=self._settings.node_pool,
                now=now,
                groups=reports,
            )
            for verdict in self._client.report_outcome(request).groups:
                if verdict.fate == GROUP_FATE_CONFLICT:
                    _LOG.warning("Group %s was reported otherwise before: %s", verdict.id, verdict.message)
                self._ledger.judge(verdict, self._picture, now.ToNanoseconds() / 1e9)

    def _annotate(self) -> None:
        subjects = ((self._picture.subject(uid), note) for uid, note in self._ledger.notes.items())
        due = [(subject, note) for subject, note in subjects if subject is not None]
        for subject, problem in self._annotations.write(due):
            _LOG.warning("%s/%s is not annotated yet: %s", subject.namespace, subject.name, problem)
            self._notes_at = self._now().ToNanoseconds() / 1e9 + _NOTES_PAUSE

    def _settle(self, now: Timestamp) -> None:
        shown = {}
        for uid in self._ledger.notes:
            item = self._mirrors.kai_pod_groups.find(uid) or self._mirrors.volcano_pod_groups.find(uid)
            if item is not None:
                shown[uid] = item.metadata.annotations
        self._ledger.settle(self._picture, shown, now.ToNanoseconds() / 1e9)
        self._annotations.forget(set(self._ledger.notes))


def _is_empty(delta: StateDelta) -> bool:
    return not delta.upserts.ByteSize() and not delta.removes.ByteSize()
