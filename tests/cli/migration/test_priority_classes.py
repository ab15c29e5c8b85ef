"""Priority values of priority classes in a migration (semantics R1.80, R1.81)."""

from pathlib import Path

import pytest
from tenure.cli.migration import Status
from tenure.cli.migration.priority_classes import BUILT_IN, OptionError, parse_options
from tenure.codec.annotations import PREEMPTIBILITY
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.cli.migration.manifest_folder import plan_of, plan_statuses
from tests.small_snapshot import small_snapshot

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [], priorityClassName: %s}\n"


def priority_class(name: str, value: str) -> str:
    return (
        f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: {value}\n"
    )


GOLD = POD % "gold"
EDGE = 100
CLASSES = {
    "of the manifests, wherever they are": (
        {"z/c.yml": priority_class("gold", f"{EDGE - 1}")},
        {},
        "preemptible",
    ),
    "from the edge on not": ({"c.yaml": priority_class("gold", f"{EDGE}")}, {}, "non-preemptible"),
    "negative": ({"c.yaml": priority_class("gold", "-5")}, {}, "preemptible"),
    "in JSON": (
        {
            "c.json": '{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", '
            '"metadata": {"name": "gold"}, "value": 120}'
        },
        {},
        "non-preemptible",
    ),
    "by the option": ({}, {"gold": 120}, "non-preemptible"),
    "by both, which agree": ({"c.yaml": priority_class("gold", "7")}, {"gold": 7}, "preemptible"),
    "by two definitions that mean the same": (
        {"dev/c.yaml": priority_class("gold", "7"), "prod/c.yaml": priority_class("gold", "8")},
        {},
        "preemptible",
    ),
    "by two definitions, between which the option decides": (
        {"dev/c.yaml": priority_class("gold", "7"), "prod/c.yaml": priority_class("gold", "800")},
        {"gold": 800},
        "non-preemptible",
    ),
}


@pytest.mark.parametrize(("files", "given", "value"), CLASSES.values(), ids=CLASSES)
def test_the_value_of_a_class(
    tmp_path: Path, files: dict[str, str], given: dict[str, int], value: str
) -> None:
    (finding,) = plan_of(tmp_path, {**files, "m.yaml": GOLD}, **given).findings
    assert (finding.status, finding.value, finding.priority_classes) == (Status.CHANGED, value, ("gold",))


def test_manifests_override_built_in_classes(tmp_path: Path) -> None:
    files = {"c.yaml": priority_class("train", "500"), "m.yaml": POD % "train"}
    assert [each.value for each in plan_of(tmp_path, files).findings] == ["non-preemptible"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("train", "preemptible"),
        ("build-preemptible", "preemptible"),
        ("interactive-preemptible", "preemptible"),
        ("build", "non-preemptible"),
        ("inference", "non-preemptible"),
        ("system-cluster-critical", "non-preemptible"),
        ("system-node-critical", "non-preemptible"),
    ],
)
def test_built_in_classes(tmp_path: Path, name: str, value: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": POD % name})
    assert [each.value for each in plan.findings] == [value]
    assert name in BUILT_IN


def test_definitions_that_differ_in_meaning_need_attention(tmp_path: Path) -> None:
    files = {"a.yaml": priority_class("gold", "7"), "b.yaml": priority_class("gold", "800"), "m.yaml": GOLD}
    (finding,) = plan_of(tmp_path, files).findings
    assert finding.status is Status.ATTENTION
    assert finding.message == (
        "its priority class gold is defined as 7 and 800; select one with --priority-class gold=VALUE"
    )


def test_option_that_contradicts_the_manifests_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="gold is 7 by its PriorityClass in the manifests, not 800"):
        plan_of(tmp_path, {"c.yaml": priority_class("gold", "7")}, gold=800)


@pytest.mark.parametrize("value", ["high", "1.5", "99999999999", ""])
def test_class_without_number_needs_attention(tmp_path: Path, value: str) -> None:
    plan = plan_of(tmp_path, {"c.yaml": priority_class("gold", value), "m.yaml": GOLD})
    assert plan_statuses(plan) == [Status.ATTENTION]


def test_options() -> None:
    assert parse_options(["gold=120", "dirt=-1", "gold=120"]) == {"gold": 120, "dirt": -1}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["gold"], "'gold' is not NAME=VALUE, such as gold=120"),
        (["=1"], "'=1' is not NAME=VALUE"),
        (["gold=high"], "'gold=high' is not NAME=VALUE"),
        (["gold=1", "gold=2"], "gold is given twice: as 1 and as 2"),
    ],
)
def test_invalid_options_are_errors(options: list[str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        parse_options(options)


@pytest.mark.parametrize(("name", "priority"), sorted(BUILT_IN.items()))
def test_decision_is_unchanged_by_the_migration(tmp_path: Path, name: str, priority: int) -> None:
    """The migrated value has the same effect in the solver as the priority alone."""
    (finding,) = plan_of(tmp_path, {"m.yaml": POD % name}).findings
    implicit, explicit = small_snapshot(), small_snapshot()
    for snapshot in (implicit, explicit):
        snapshot.pod_groups[0].priority = priority
        snapshot.pod_groups[1].priority = priority
    explicit.pod_groups[0].annotations[PREEMPTIBILITY] = finding.value
    before, now = evicted_pods(implicit), evicted_pods(explicit)
    assert now == before
    assert bool(now) is (priority < EDGE)


def evicted_pods(snapshot: ClusterSnapshot) -> list[str]:
    """Return the pods evicted for the pending gang, which can reclaim the GPUs of the other queue."""
    del snapshot.nodes[1]
    snapshot.queues[1].gpu_milli.quota = 0
    answer = Engine(default_profile()).decide(DecideRequest(snapshot=snapshot)).parse()
    return [step.evict.pod for group in answer.groups for step in group.decisions if step.HasField("evict")]
