"""The plain whole-GPU cases pass: those of this project, and the reference's if the case folder exists."""

import pytest
from tenure.codec.engine import Engine
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.decision_pb2 import Decision

from tests.checker import verify
from tests.conformance.cases import Case, load_cases
from tests.conformance.command import CHECKOUT, DEFAULT_CASES
from tests.conformance.conversion.profile import to_profile
from tests.conformance.plain_cases import plain_cases
from tests.conformance.rounds import run_sessions
from tests.conformance.runner import run_case

SPECIAL = frozenset(
    {
        "affinity",
        "custom_assertions",
        "custom_scheduler_conf",
        "dra",
        "fractional_gpu",
        "gpu_memory",
        "large",
        "mig",
        "min_sub_groups",
        "numa",
        "storage",
        "subgroups",
        "topology",
    }
)
"""Tags of cases that cover more than whole GPUs."""


def _plain_reference_cases() -> list[Case]:
    folder = CHECKOUT / DEFAULT_CASES
    return [case for case in load_cases(folder) if _is_plain(case)] if folder.is_dir() else []


def _is_plain(case: Case) -> bool:
    if case.group != "table cases" or case.tags & SPECIAL:
        return False
    return case.data["run"]["actions"] in (["allocate"], ["reclaim"], ["preempt"])


CASES = [*plain_cases(), *_plain_reference_cases()]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_plain_whole_gpu_case_passes(case: Case) -> None:
    assert run_case(case).details == ()


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_responses_to_a_plain_case_pass_the_checker(case: Case) -> None:
    engine = Engine(to_profile(case.data))

    def checked(request: DecideRequest) -> DecideResponse:
        response = engine.decide(request).parse()
        assert verify(request.snapshot, response) == []
        return response

    assert [scene.label for scene in run_sessions(case.data, checked)]


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_progress_and_costs_change_no_byte_without_their_plugins_r14_17_r14_31(case: Case) -> None:
    engine = Engine(to_profile(case.data))

    def same(request: DecideRequest) -> DecideResponse:
        counted = DecideRequest()
        counted.CopyFrom(request)
        for group in counted.snapshot.pod_groups:
            group.evictions_without_progress = 5
            group.eviction_cost, group.shrink_loses_work = 7_200, True
            group.last_checkpoint_time.CopyFrom(group.creation_time)
            group.restart_cost.seconds = group.checkpoint_interval.seconds = 600
        answer = engine.decide(request)
        assert engine.decide(counted).content == answer.content
        response = answer.parse()
        assert [d for g in response.groups for d in g.decisions if _counts(d)] == []
        return response

    assert list(run_sessions(case.data, same))


def _counts(decision: Decision) -> bool:
    return decision.patch.WhichOneof("change") == "evictions_without_progress"
