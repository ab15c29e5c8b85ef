"""One text, one preemptibility, wherever it is written and shown (R1.80, R8.20)."""

from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf import text_format
from tenure.cli.migration import Status
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.observe.wishes import Place, preemptibility_of
from tenure.terms.preemptibility import SPELLINGS, Preemptibility
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.cli.migration.manifest_folder import plan_of, plan_statuses
from tests.cli.workload_cases import SNAPSHOT, list_workloads
from tests.kubernetes.observe.cached_cluster import CachedCluster, pod_group

KEY: Final = "kai.scheduler/preemptibility"
VOLCANO_KEY: Final = "volcano.sh/preemptable"
UNSET, KEPT = Preemptibility.PREEMPTIBLE, Preemptibility.NON_PREEMPTIBLE
"""The legacy rule for the priority 50, and what an unknown text means."""
TEXTS: Final = {
    "": UNSET,
    " ": UNSET,
    "\t": UNSET,
    "-preemptible": KEPT,
    "pre-emptible": KEPT,
    "preemptible-": KEPT,
    "-": KEPT,
    " Preemptible ": Preemptibility.PREEMPTIBLE,
    "NonPreemptible": KEPT,
    " semi-preemptible": Preemptibility.SEMI_PREEMPTIBLE,
}
UNKNOWN: Final = ("-preemptible", "pre-emptible", "preemptible-", "-")
EVERY_TEXT: Final = pytest.mark.parametrize(("text", "mode"), TEXTS.items(), ids=map(repr, TEXTS))


def snapshot_with(text: str) -> ClusterSnapshot:
    """A snapshot whose only pod group has the annotation."""
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    snapshot.pod_groups[0].annotations[KEY] = text
    return snapshot


@EVERY_TEXT
def test_responses_and_the_command_line_show_it(text: str, mode: Preemptibility) -> None:
    _, (row,) = list_workloads(snapshot_with(text))
    assert (row.status.preemptibility, row.preemptibility) == (mode, SPELLINGS[mode])
    assert bool(row.status.preemptibility_problem) == (
        text in ("-preemptible", "pre-emptible", "preemptible-", "-")
    )


PLACES: Final = {
    "field": lambda text: {"preemptibility": text},
    "annotation": lambda text: {"annotations": {KEY: text}},
    "label": lambda text: {"labels": {KEY: text}},
}


def place_of(written: dict[str, Any]) -> Place:
    metadata = {name: value for name, value in written.items() if name != "preemptibility"}
    return Place(ObjectMeta(**metadata), written.get("preemptibility", ""))


@pytest.mark.parametrize("place", PLACES)
@EVERY_TEXT
def test_the_adapter_and_kubectl_read_it_in_every_place(place: str, text: str, mode: Preemptibility) -> None:
    written: dict[str, Any] = PLACES[place](text)
    world = CachedCluster()
    world.put("kai_pod_groups", pod_group("g", **written))
    (observed,) = world.snapshot().pod_groups
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    snapshot.pod_groups[0].preemptibility = observed.preemptibility
    snapshot.pod_groups[0].annotations.update(observed.annotations)
    _, (row,) = list_workloads(snapshot)
    assert row.status.preemptibility == mode
    assert (preemptibility_of([place_of(written)]).mode or UNSET) == mode


BLANK: Final = {
    "field, then annotation": {"preemptibility": " ", "annotations": {KEY: "non-preemptible"}},
    "annotation, then label": {"annotations": {KEY: " "}, "labels": {KEY: "non-preemptible"}},
    "annotation, then Volcano's": {"annotations": {KEY: "\t", VOLCANO_KEY: "false"}},
    "Volcano's annotation, then its label": {
        "annotations": {VOLCANO_KEY: " "},
        "labels": {VOLCANO_KEY: " False "},
    },
}


@pytest.mark.parametrize("written", BLANK.values(), ids=BLANK)
def test_a_blank_text_hides_no_later_place(written: dict[str, Any]) -> None:
    assert preemptibility_of([place_of(written)]).mode is KEPT
    assert preemptibility_of([place_of({"annotations": {KEY: " "}}), place_of(written)]).mode is KEPT


def test_a_blank_text_of_volcano_is_unset() -> None:
    blank = {"annotations": {VOLCANO_KEY: " "}}
    assert preemptibility_of([place_of(blank)]).mode is Preemptibility.UNSPECIFIED


GROUP: Final = """apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g, annotations: {%s: "%s"}}
spec: {priorityClassName: train}
"""


@pytest.mark.parametrize("key", [KEY, VOLCANO_KEY])
@pytest.mark.parametrize("text", ["", " "])
def test_migration_writes_a_value_beside_a_blank_one(tmp_path: Path, key: str, text: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": GROUP % (key, text)})
    assert plan_statuses(plan) == [Status.CHANGED]


@pytest.mark.parametrize("text", ["-preemptible", "pre-emptible", "preemptible-"])
def test_migration_asks_for_attention_to_an_unknown_text(tmp_path: Path, text: str) -> None:
    plan = plan_of(tmp_path, {"m.yaml": GROUP % (KEY, text)})
    assert plan_statuses(plan) == [Status.ATTENTION]
