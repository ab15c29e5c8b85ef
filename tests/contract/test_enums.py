"""The enums of the model have the names and numbers of the contract, so that converting is casting."""

from enum import IntEnum

import pytest
from google.protobuf.descriptor import EnumDescriptor
from tenure.server.explain.remedy_messages import ResourceKind
from tenure.server.explain.when_starts import RangeReason
from tenure.solver.diagnosis.capacity import GpuUse
from tenure.solver.diagnosis.eviction_obstacle import EvictionObstacle
from tenure.solver.diagnosis.remedies import RemedyKind
from tenure.solver.model.caller_state import Certainty, StartDelay
from tenure.solver.model.constraints import Operator, TaintEffect
from tenure.solver.model.decision import Atomicity, InFlightGroupState, OutcomeKind
from tenure.solver.model.fate import AtEvictionLimit, Fate, HoldReason, NoticeSignal
from tenure.solver.model.node import MigStrategy, NumaPolicy
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import NominationResult, NominationSkipReason
from tenure.solver.model.snapshot_warning import WarningCode
from tenure.solver.model.verdict import Minimality, ProtectionScope, VictimMeasure
from tenure.solver.model.workload_parts import Preemptibility
from tenure.terms.preemptibility import PreemptibilitySource
from tenure.terms.reasons import ReasonCode
from tenure.v1 import (
    decide_pb2,
    decision_pb2,
    explain_pb2,
    pod_group_status_pb2,
    resources_pb2,
    snapshot_pb2,
)

OTHER_NAMES = {
    "TAINT_EFFECT_ANY": "TAINT_EFFECT_UNSPECIFIED",
    "MIG_STRATEGY_NONE": "MIG_STRATEGY_UNSPECIFIED",
    "NUMA_POLICY_NONE": "NUMA_POLICY_UNSPECIFIED",
    "PROTECTION_SCOPE_NOTHING": "PROTECTION_SCOPE_UNSPECIFIED",
    "EVICTION_OBSTACLE_KIND_UNTRIED": "EVICTION_OBSTACLE_KIND_UNSPECIFIED",
}


PAIRS: list[tuple[type[IntEnum], EnumDescriptor, str]] = [
    (TaskStatus, snapshot_pb2.PodStatus.DESCRIPTOR, "POD_STATUS_"),
    (Preemptibility, snapshot_pb2.Preemptibility.DESCRIPTOR, "PREEMPTIBILITY_"),
    (
        PreemptibilitySource,
        pod_group_status_pb2.PreemptibilitySource.DESCRIPTOR,
        "PREEMPTIBILITY_SOURCE_",
    ),
    (Fate, snapshot_pb2.Fate.DESCRIPTOR, "FATE_"),
    (AtEvictionLimit, snapshot_pb2.AtEvictionLimit.DESCRIPTOR, "AT_EVICTION_LIMIT_"),
    (RangeReason, explain_pb2.RangeReason.DESCRIPTOR, "RANGE_REASON_"),
    (Certainty, snapshot_pb2.Certainty.DESCRIPTOR, "CERTAINTY_"),
    (StartDelay, snapshot_pb2.StartDelay.DESCRIPTOR, "START_DELAY_"),
    (HoldReason, snapshot_pb2.HoldReason.DESCRIPTOR, "HOLD_REASON_"),
    (NoticeSignal, decision_pb2.NoticeSignal.DESCRIPTOR, "NOTICE_SIGNAL_"),
    (MigStrategy, snapshot_pb2.MigStrategy.DESCRIPTOR, "MIG_STRATEGY_"),
    (NumaPolicy, snapshot_pb2.NumaPolicy.DESCRIPTOR, "NUMA_POLICY_"),
    (TaintEffect, snapshot_pb2.TaintEffect.DESCRIPTOR, "TAINT_EFFECT_"),
    (Operator, snapshot_pb2.SelectorOperator.DESCRIPTOR, "SELECTOR_OPERATOR_"),
    (ReasonCode, decision_pb2.ReasonCode.DESCRIPTOR, "REASON_CODE_"),
    (Atomicity, decision_pb2.Atomicity.DESCRIPTOR, "ATOMICITY_"),
    (InFlightGroupState, decision_pb2.InFlightGroupState.DESCRIPTOR, "IN_FLIGHT_GROUP_STATE_"),
    (OutcomeKind, decision_pb2.OutcomeKind.DESCRIPTOR, "OUTCOME_KIND_"),
    (ProtectionScope, decision_pb2.ProtectionScope.DESCRIPTOR, "PROTECTION_SCOPE_"),
    (VictimMeasure, decision_pb2.VictimMeasure.DESCRIPTOR, "VICTIM_MEASURE_"),
    (Minimality, decision_pb2.Minimality.DESCRIPTOR, "MINIMALITY_"),
    (NominationResult, decision_pb2.NominationResult.DESCRIPTOR, "NOMINATION_RESULT_"),
    (NominationSkipReason, decision_pb2.NominationSkipReason.DESCRIPTOR, "NOMINATION_SKIP_REASON_"),
    (RemedyKind, explain_pb2.RemedyKind.DESCRIPTOR, "REMEDY_KIND_"),
    (GpuUse, explain_pb2.GpuUseKind.DESCRIPTOR, "GPU_USE_KIND_"),
    (EvictionObstacle, explain_pb2.EvictionObstacleKind.DESCRIPTOR, "EVICTION_OBSTACLE_KIND_"),
    (ResourceKind, explain_pb2.ResourceKind.DESCRIPTOR, "RESOURCE_KIND_"),
    (WarningCode, decide_pb2.WarningCode.DESCRIPTOR, "WARNING_CODE_"),
]


@pytest.mark.parametrize(("model", "wire", "prefix"), PAIRS)
def test_model_and_wire_agree(model: type[IntEnum], wire: EnumDescriptor, prefix: str) -> None:
    named = {OTHER_NAMES.get(prefix + value.name, prefix + value.name): value.value for value in model}
    known = {value.name: value.number for value in wire.values}
    if known.keys() - named.keys() == {f"{prefix}UNSPECIFIED"}:
        del known[f"{prefix}UNSPECIFIED"]
    assert named == known


def test_every_enum_of_the_contract_is_covered() -> None:
    modules = (decision_pb2, decide_pb2, explain_pb2, pod_group_status_pb2, resources_pb2, snapshot_pb2)
    declared = {name for module in modules for name in module.DESCRIPTOR.enum_types_by_name}
    assert declared == {wire.name for _, wire, _ in PAIRS}
