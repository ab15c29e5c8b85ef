"""Pages that ask the service: explanations, cycles that are decided again, and What if."""

from dataclasses import replace
from typing import Any, Final

from tenure.client import TenureError
from tenure.console import what_if
from tenure.console.access import TooManyQueries
from tenure.console.audience_texts import failure_text, text_for
from tenure.console.page_request import Content, NotFound, Request
from tenure.console.questions import QUESTIONS
from tenure.v1.explain_pb2 import RangeReason, RemedyKind, StartEstimate
from tenure.v1.snapshot_pb2 import Certainty
from tenure.wire.enum_labels import enum_label

_HEADINGS: Final = {
    "why_pending": "why it waits",
    "when_starts": "when it starts",
    "why_victim": "why it is evicted",
    "protected_until": "until when it is protected",
}
_TIMES: Final = ("earliest_start", "likely_start", "likely_start_by", "latest_start")
_CERTAINTIES: Final = {
    Certainty.CERTAINTY_BOUNDED: "time limits say so",
    Certainty.CERTAINTY_EXPECTED: "expected runtimes say so",
    Certainty.CERTAINTY_ASSUMED: "an end was assumed",
    Certainty.CERTAINTY_UNKNOWN: "not known",
}
_RANGE_REASONS: Final = {
    RangeReason.RANGE_REASON_EXPECTED_ENDS: "others may run up to their time limits",
    RangeReason.RANGE_REASON_NO_TIME_LIMIT: "others have no time limit",
    RangeReason.RANGE_REASON_UNKNOWN_ENDS: "others have no known end",
    RangeReason.RANGE_REASON_STEP: "ends were not looked at one by one",
    RangeReason.RANGE_REASON_PLAY_LIMIT: "later times were not looked at",
    RangeReason.RANGE_REASON_SEARCH_LIMIT: "not all evictions were looked for",
}


def explain_page(request: Request) -> Content:
    """The answer to a question about a workload."""
    row, question = request.workload(), request.text("question")
    if question not in QUESTIONS:
        raise NotFound("There is no such question.")
    content: dict[str, Any] = {"row": row, "heading": _HEADINGS[question], "failure": "", "remedies": None}
    if not request.is_own:
        return "explanation.html.j2", {**content, "failure": "Open this page from the workload."}
    try:
        answer = request.questions.explain(request.reader, request.view, question, row.group.uid)
    except TooManyQueries as error:
        return "explanation.html.j2", {**content, "failure": str(error)}
    except TenureError as error:
        return "explanation.html.j2", {**content, "failure": failure_text(error, request.audience)}
    content["text"] = text_for(request.audience, answer.explanation)
    content["until"] = answer.until.ToNanoseconds() if answer.HasField("until") else 0
    content["estimates"] = [_estimate(request, each) for each in answer.start_estimates]
    if question == "why_pending":
        content["remedies"] = [
            (
                enum_label(RemedyKind, each.kind).replace("_", " "),
                text_for(request.audience, each.explanation),
            )
            for each in answer.remedies
        ]
    return "explanation.html.j2", content


def _estimate(request: Request, estimate: StartEstimate) -> dict[str, Any]:
    """Facts about a start; times are 0 where they are not known. Only operators see other workloads."""
    times = {name: getattr(estimate, name).ToNanoseconds() for name in _TIMES if estimate.HasField(name)}
    return {
        "position": estimate.position,
        "ahead": estimate.gpu_milli_ahead,
        "certainty": _CERTAINTIES.get(estimate.certainty, ""),
        "reasons": [_RANGE_REASONS[each] for each in estimate.range_reasons if each in _RANGE_REASONS],
        "nearest": [
            (uid, request.view.names.name(uid)) for uid in (estimate.ahead if request.is_operator else ())
        ],
        "ends": [
            (end.pod_group, request.view.names.name(end.pod_group), end.end_time.ToNanoseconds())
            for end in (estimate.awaited_ends if request.is_operator else ())
        ],
        **{name: times.get(name, 0) for name in _TIMES},
    }


def replay_page(request: Request) -> Content:
    """A cycle that is decided again."""
    number = request.number("cycle")
    cycle = next((each for each in request.view.cycles if each.number == number), None)
    if cycle is None:
        raise NotFound("This cycle is no longer kept by the service.")
    content: dict[str, Any] = {"version": cycle.response.header.version, "failure": "", "replayed": None}
    if not request.is_own:
        return "replay.html.j2", {**content, "failure": "Open this page from the decisions."}
    try:
        content["replayed"] = request.questions.replay(request.reader, request.view, cycle)
        if content["replayed"] is None:
            content["failure"] = (
                "The state of this cycle is no longer kept. Use tenure replay on the records."
            )
    except TooManyQueries as error:
        content["failure"] = str(error)
    except TenureError as error:
        content["failure"] = failure_text(error, request.audience)
    return "replay.html.j2", content


def what_if_page(request: Request) -> Content:
    """The form and its answer."""
    view = request.view
    parents = {queue.parent for queue in view.snapshot.queues}
    leaves = sorted(name for name in view.queues if name not in parents)
    if request.visible is not None:
        leaves = [name for name in leaves if name in request.visible]
    form = what_if.Form.of(request.query)
    content: dict[str, Any] = {
        "form": form,
        "queues": leaves,
        "modes": what_if.MODES,
        "visible": request.visible or (),
        "problems": {},
        "failure": "",
        "answer": None,
        "scale": 1,
    }
    if request.text("run") and request.is_own:
        try:
            if form.queue not in leaves:
                form = what_if.Form.of({**request.query, "queue": ""})
            answer = request.questions.what_if(request.reader, view, form)
            changes = [
                each for each in answer.changes if request.is_operator or each.name in content["visible"]
            ]
            content["answer"] = replace(answer, changes=changes)
            content["scale"] = max([1, *(max(each.quota, each.before, each.after) for each in changes)])
        except what_if.InvalidForm as error:
            content["problems"] = error.problems
        except TooManyQueries as error:
            content["failure"] = str(error)
        except TenureError as error:
            content["failure"] = failure_text(error, request.audience)
    return "what_if.html.j2", content
