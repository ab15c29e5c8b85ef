"""Texts of the service for an audience: the one place that decides who reads whose words.

Texts for operators name everything. For other audiences, a text is one of this package or of the service that
names no others, or it is about their own workloads and queues.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from tenure.client import StateMismatch, TenureError
from tenure.client.public_messages import format_public_message
from tenure.console.access import Audience
from tenure.console.page_request import Request
from tenure.console.workloads import Protected, WorkloadRow, workload
from tenure.render.protected import OTHER_QUEUES, OWN_QUEUE
from tenure.v1.decide_pb2 import WarningCode
from tenure.v1.decision_pb2 import Reason
from tenure.v1.explain_pb2 import Explanation
from tenure.wire.enum_labels import enum_label

_QUEUE: Final = "queue "
_OWN_SOURCES: Final = ("its own ", "its priority ", "default of ", "argument ")
"""How the guards of the service begin the origin of a value; others may write anything."""


def text_for(audience: Audience, explanation: Explanation) -> str:
    """The explanation for an audience."""
    return str(getattr(explanation, audience.value))


def reason_for(audience: Audience, reason: Reason) -> str:
    """A reason for an audience: only operators see names."""
    return reason.message if audience is Audience.OPERATOR else format_public_message(reason)


def request_for(audience: Audience, row: WorkloadRow) -> str:
    """What the owner of a workload wants that is not in force; only operators see for which quota."""
    if audience is Audience.OPERATOR or not row.request_text:
        return row.request_text
    return "more protection is requested, but not in force"


def failure_text(error: TenureError, audience: Audience) -> str:
    """Why a question has no answer."""
    if isinstance(error, StateMismatch):
        return "The state has just changed. Try again."
    return str(error) if audience is Audience.OPERATOR else "The service does not answer this question."


def against_text(audience: Audience, protection: Protected) -> str:
    """What a workload is protected from; only operators see names of others."""
    if audience is Audience.OPERATOR or protection.against in ("all", OWN_QUEUE, OTHER_QUEUES):
        return protection.against
    return "some others"


def source_text(audience: Audience, may_name: Callable[[str], bool], source: str) -> str:
    """Where a value is set, such as `queue vision`; empty for those who may not read it."""
    if audience is Audience.OPERATOR or source.startswith(_OWN_SOURCES):
        return source
    is_nameable = source.startswith(_QUEUE) and may_name(source.removeprefix(_QUEUE))
    return source if is_nameable else ""


class WarningText(NamedTuple):
    """One warning about the snapshot."""

    text: str
    number: int
    """Number of workloads that it is about."""
    workloads: tuple[WorkloadRow, ...] = ()
    """Those that are named, if the text does not."""


def warning_texts(request: Request) -> Iterator[WarningText]:
    """Warnings that the audience may read.

    The sentence of a warning can contain what any workload, queue or node says of itself. So others than
    operators read its kind, and which of their own workloads it is about.
    """
    for each in request.view.response.warnings:
        if request.is_operator:
            yield WarningText(each.message, each.count)
            continue
        rows = (workload(request.view, uid) for uid in each.pod_groups)
        own = tuple(row for row in rows if row is not None and request.sees(row))
        if own:
            yield WarningText(
                enum_label(WarningCode, each.code).replace("_", " ").capitalize(), len(own), own
            )
