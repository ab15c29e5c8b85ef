"""Responses are applied to task states, and each round starts from the result of the previous round."""

import pytest
from tenure.v1 import decide_pb2, decision_pb2

from tests.checker.detection import sound_response
from tests.conformance.rounds import run_sessions, write_back
from tests.conformance.session_result import UnexpectedDecision, apply_response
from tests.conformance.small_cases import PENDING, case, expect, job, node, queue
from tests.conformance.task_table import Calls, TaskState

RUNS = TaskState("Running", "node0", ("old",))
WAITS = TaskState("Pending", None)


def _response(*steps: decision_pb2.Decision) -> decide_pb2.DecideResponse:
    return decide_pb2.DecideResponse(groups=[decision_pb2.DecisionGroup(decisions=steps)])


@pytest.mark.parametrize(
    ("steps", "state", "calls"),
    [
        ([], RUNS, Calls()),
        (
            [sound_response.evict("t", "node0", "b")],
            TaskState("Releasing", "node0", ("old",)),
            Calls(evictions=1),
        ),
        (
            [
                sound_response.evict("t", "node0", "b", moves=True),
                sound_response.reserve("t", "node1", "new"),
            ],
            TaskState("Pipelined", "node1", ("new",)),
            Calls(evictions=1, pipelines=1),
        ),
        ([sound_response.reserve("t", "node1")], TaskState("Pipelined", "node1"), Calls(pipelines=1)),
        ([sound_response.bind("t", "node1", "new")], TaskState("Binding", "node1", ("new",)), Calls(binds=1)),
    ],
    ids=["nothing", "evicted", "moved", "held", "bound"],
)
def test_response_determines_the_state_after_a_session(
    steps: list[decision_pb2.Decision], state: TaskState, calls: Calls
) -> None:
    session = apply_response({"t": RUNS}, {}, _response(*steps))
    assert (session.tasks["t"], session.calls) == (state, calls)


def test_relocated_task_is_releasing_on_its_old_node() -> None:
    answer = _response(
        sound_response.evict("t", "node0", "b", moves=True), sound_response.reserve("t", "node1")
    )
    leaving = apply_response({"t": RUNS}, {}, answer).leaving
    assert leaving == {"t": TaskState("Releasing", "node0", ("old",))}


def test_a_start_patch_sets_the_last_start_of_the_job() -> None:
    patch = decision_pb2.Patch(pod_group="job")
    patch.last_start_time.FromSeconds(1)
    session = apply_response({}, {"other": -60.0}, _response(decision_pb2.Decision(patch=patch)))
    assert session.last_start_s == {"other": -60.0, "job": 0.0}


@pytest.mark.parametrize(
    "step",
    [
        sound_response.bind("nobody", "node0"),
        decision_pb2.Decision(requeue=decision_pb2.Requeue(pod_group="job")),
    ],
    ids=["unknown task", "requeue"],
)
def test_unexpected_decision_is_rejected(step: decision_pb2.Decision) -> None:
    with pytest.raises(UnexpectedDecision):
        apply_response({"t": RUNS}, {}, _response(step))


@pytest.mark.parametrize(
    ("after", "keep_releasing", "following"),
    [
        (TaskState("Releasing", "node0", ("new",)), False, TaskState("Pending", None, ("old",))),
        (
            TaskState("Releasing", "node0", ("new",)),
            True,
            TaskState("Releasing", "node0", ("new",)),
        ),
        (TaskState("Pipelined", "node1", ("new",)), False, TaskState("Pending", None, ("old",))),
        (TaskState("Binding", "node1", ("new",)), False, TaskState("Running", "node1", ("new",))),
        (WAITS, False, WAITS),
    ],
    ids=["evicted comes back", "evicted stays releasing", "promised waits again", "bound runs", "waits"],
)
def test_session_result_is_written_back(after: TaskState, keep_releasing: bool, following: TaskState) -> None:
    data = {"jobs": [{"keep_evicted_pods_releasing": keep_releasing, "tasks": [{"uid": "t"}]}]}
    assert write_back(data, {"t": RUNS}, {"t": after}) == {"t": following}


def test_rounds_are_matched_after_the_write_back_and_then_after_every_round() -> None:
    rounds = {"mode": "rounds", "actions": [], "rounds_until_match": 2, "rounds_after_match": 1}
    data = case(
        "rounds",
        [node("node0", 1)],
        [queue("queue0", 1)],
        [job("a", "queue0", [PENDING])],
        {"a": expect("Running")},
        run=rounds,
    ).data
    versions: list[int] = []

    def bind_at_first(request: decide_pb2.DecideRequest) -> decide_pb2.DecideResponse:
        versions.append(request.snapshot.version)
        return _response(sound_response.bind("a-0", "node0")) if len(versions) == 1 else _response()

    scenes = [
        (s.label, s.session.tasks["a-0"].status, s.is_matched) for s in run_sessions(data, bind_at_first)
    ]
    assert scenes == [
        ("round 1: ", "Binding", False),
        ("round 2: ", "Running", False),
        ("after round 2: ", "Running", True),
        ("round 3: ", "Running", True),
    ]
    assert versions == [1, 2, 3]
