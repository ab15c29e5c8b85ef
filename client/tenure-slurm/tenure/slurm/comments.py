"""Writes why a job waits, and until when it is protected, into its administrator comment.

Users see it with `scontrol show job` and `squeue -O admin_comment:120`, and cannot change it. Their own
comment is never touched. A thread in the background writes changes, a few a second; no decision waits for it.
"""

import logging
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from tenure.client.public_messages import format_public_message
from tenure.integration.journal_entry import JournalEntry
from tenure.integration.ports import ClusterError, LeaseLost
from tenure.slurm.observe.comment_marks import PREFIX, format_marks
from tenure.slurm.observe.source import ObservedJob, SlurmSource
from tenure.slurm.programs import Slurm
from tenure.terms.reason_class import ReasonClass
from tenure.terms.reasons import REASONS
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import (
    OUTCOME_KIND_BOUND,
    OUTCOME_KIND_BUDGET_EXHAUSTED,
    Protection,
    Reason,
)
from tenure.v1.snapshot_pb2 import POD_STATUS_RUNNING
from tenure.v1.state_pb2 import SetAsideRows

_PAUSE_SECONDS: Final = 0.05
_MAX_LENGTH: Final = 400
_UNPROTECTED: Final = "may be requeued for other jobs"
_SEPARATORS: Final = '"|'
_IGNORED: Final = (OUTCOME_KIND_BOUND, OUTCOME_KIND_BUDGET_EXHAUSTED)
_LOG: Final = logging.getLogger(__name__)


class CommentWriter:
    """Implements StatusWriter. Call `run` in a thread of its own."""

    def __init__(self, slurm: Slurm, source: SlurmSource) -> None:
        self._slurm, self._source = slurm, source
        self._due: dict[str, str] = {}
        """Comments to be written, by id of the job."""
        self._set_aside: dict[str, str] = {}
        """Why the server does not accept jobs, by uid of the pod group."""
        self._changed = threading.Condition()
        self._is_closed = False

    def report(self, response: DecideResponse, entries: Iterable[JournalEntry]) -> None:
        """Publish the outcomes and protections of a response. Returns at once."""
        protected = _protections(response.protections)
        waiting = {row.pod_group: row for row in response.outcomes if row.kind not in _IGNORED}
        refused = self._refused_starts(entries)
        due: dict[str, str] = {}
        for uid, job in self._source.jobs.items():
            if job.rows.pods[0].status == POD_STATUS_RUNNING:
                text = protected.get(uid, _UNPROTECTED)
            elif uid in self._set_aside:
                text = f"is not scheduled: {self._set_aside[uid]}"
            elif job.rows.waits:
                text = f"waits: {job.rows.waits}"
            elif uid in refused:
                text = f"waits: {refused[uid]}"
            elif uid in waiting:
                text = f"waits: {_reason(waiting[uid].reason)}"
            else:
                continue
            memory, known = job.memory, job.run.job.admin_comment
            nodes = None if memory.nodes == memory.max_nodes else (memory.nodes, memory.max_nodes)
            marks = format_marks(known, nodes, (memory.required_nodes, memory.excluded_nodes))
            comment = f"{_printable(f'{PREFIX}{text}')}{marks}"
            if _is_new(job, comment):
                # The tasks of an array that were not touched are one job, which a comment must not split.
                due.setdefault(str(job.run.job.job_id), comment)
        with self._changed:
            self._due.update(due)
            self._changed.notify()

    def set_aside(self, rows: SetAsideRows) -> None:
        """Log the rows that the server does not accept, and tell owners of jobs; it schedules the others."""
        known, self._set_aside = self._set_aside, {}
        for row in rows.rows:
            if row.violations and not row.dependent:
                first = row.violations[0]
                self._set_aside[row.key] = text = f"{first.field.rpartition('.')[2]} {first.description}"
                if known.get(row.key) != text:
                    _LOG.warning("%s %s is not scheduled: %s", row.field.partition("[")[0], row.key, text)

    def _refused_starts(self, entries: Iterable[JournalEntry]) -> dict[str, str]:
        """Why starts are repeated, by uid of the pod group."""
        found: dict[str, str] = {}
        for entry in entries:
            for decision in entry.unfinished_decisions():
                result, job = entry.results.get(decision.id), self._source.pods.get(decision.bind.pod)
                if result is not None and job is not None:
                    found[job[0].rows.group.uid] = result.detail
        return found

    def close(self) -> None:
        """End `run`."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def run(self) -> None:
        """Write comments until closed. One that cannot be written is dropped; the next pass repeats it."""
        while True:
            with self._changed:
                while not self._due and not self._is_closed:
                    self._changed.wait()
                if self._is_closed:
                    return
                reference = next(iter(self._due))
                text = self._due.pop(reference)
            try:
                self._slurm.set_admin_comment(reference, text)
            except (ClusterError, LeaseLost) as error:
                _LOG.debug("Cannot write the comment of job %s: %s", reference, error)
            threading.Event().wait(_PAUSE_SECONDS)


def _is_new(job: ObservedJob, comment: str) -> bool:
    """Whether the job has another comment, and not one that an administrator wrote."""
    known = job.run.job.admin_comment or ""
    return known != comment and (not known or known.startswith(PREFIX.strip()))


def _reason(reason: Reason) -> str:
    """The sentence of a reason; one about protections names no job of others."""
    row = REASONS.get(reason.code)
    if row is None or row.reason_class is ReasonClass.PROTECTION:
        return format_public_message(reason)
    return reason.message


def _protections(protections: Iterable[Protection]) -> dict[str, str]:
    """What protects each running job for longest, in a few words."""
    latest: dict[str, tuple[float, Protection]] = {}
    for one in protections:
        if not one.scope or one.against_pod_group:
            continue  # an exception, or one that concerns a single other job
        until = one.until.ToNanoseconds() / 1e9 if one.HasField("until") else float("inf")
        if one.pod_group not in latest or latest[one.pod_group][0] < until:
            latest[one.pod_group] = until, one
    return {uid: _protected(until, one) for uid, (until, one) in latest.items()}


def _protected(until: float, protection: Protection) -> str:
    actions = ", ".join(protection.actions) or "eviction"
    end = "" if until == float("inf") else f" until {datetime.fromtimestamp(until, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"protected from {actions}{end} by {protection.guard}"


@lru_cache(1_000)
def _printable(text: str) -> str:
    """One line of ASCII without double quotes, and without the separator of sacct."""
    safe = text.encode("ascii", "replace").decode()[:_MAX_LENGTH]
    return "".join(letter if letter.isprintable() and letter not in _SEPARATORS else " " for letter in safe)
