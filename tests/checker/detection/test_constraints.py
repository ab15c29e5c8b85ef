"""The checker reports pods on nodes that do not meet their constraints."""

import pytest
from tenure.v1 import snapshot_pb2

from tests.checker.detection.mutations import (
    Break,
    Snapshot,
    Table,
    assert_harmless,
    assert_reported,
    find,
    rows,
    set_fields,
)


def _affinity(snapshot: Snapshot, operator: snapshot_pb2.SelectorOperator, *values: str) -> object:
    term = find(snapshot, "shapes", "one").node_affinity.add()
    return term.requirements.add(key="zone", operator=operator, values=values)


def _taint(snapshot: Snapshot, **toleration: object) -> object:
    if toleration:
        find(snapshot, "shapes", "one").tolerations.add(**toleration)
    taints = find(snapshot, "nodes", "n2").taints
    return taints.add(key="gpu", value="slow", effect=snapshot_pb2.TAINT_EFFECT_NO_SCHEDULE)


CONSTRAINTS: Table = {
    "cordoned": (lambda s, r: set_fields(find(s, "nodes", "n2"), unschedulable=True), "the node is cordoned"),
    "not ready": (
        lambda s, r: find(s, "nodes", "n1").unready_conditions.append("NotReady"),
        "pod new-0 on node n1: the node has condition NotReady",
    ),
    "selector": (
        lambda s, r: find(s, "shapes", "one").node_selector.update({"zone": "n1"}),
        "the selector asks for zone=n1",
    ),
    "affinity in": (
        lambda s, r: _affinity(s, snapshot_pb2.SELECTOR_OPERATOR_IN, "n1"),
        "no term of the node affinity matches",
    ),
    "affinity not in": (
        lambda s, r: _affinity(s, snapshot_pb2.SELECTOR_OPERATOR_NOT_IN, "n2"),
        "no term of the node affinity matches",
    ),
    "affinity does not exist": (
        lambda s, r: _affinity(s, snapshot_pb2.SELECTOR_OPERATOR_DOES_NOT_EXIST),
        "no term of the node affinity matches",
    ),
    "affinity greater than": (
        lambda s, r: _affinity(s, snapshot_pb2.SELECTOR_OPERATOR_GREATER_THAN, "1"),
        "no term of the node affinity matches",
    ),
    "taint": (lambda s, r: _taint(s), "taint gpu=slow is not tolerated"),
    "taint with another value": (
        lambda s, r: _taint(s, key="gpu", value="fast"),
        "taint gpu=slow is not tolerated",
    ),
    "whole GPU on a node of MIG slices": (
        lambda s, r: set_fields(find(s, "nodes", "n2"), mig_strategy=snapshot_pb2.MIG_STRATEGY_MIXED),
        "the node takes MIG and CPU-only pods",
    ),
    "MIG slice on a node without": (
        lambda s, r: find(s, "shapes", "one").requests.extended.update({"nvidia.com/mig-1g.5gb": 1}),
        "the node has no MIG slices",
    ),
}


HARMLESS: dict[str, Break] = {
    "a tolerated taint": lambda s, r: _taint(s, key="gpu", exists=True),
    "a toleration of everything": lambda s, r: _taint(s, exists=True),
    "a matching affinity": lambda s, r: _affinity(s, snapshot_pb2.SELECTOR_OPERATOR_EXISTS),
}


@pytest.mark.parametrize(("breaks", "violation"), rows(CONSTRAINTS))
def test_pod_on_a_forbidden_node_is_reported(breaks: Break, violation: str) -> None:
    assert_reported(breaks, violation)


@pytest.mark.parametrize("changes", HARMLESS.values(), ids=HARMLESS)
def test_a_permitted_node_is_not_reported(changes: Break) -> None:
    assert_harmless(changes)
