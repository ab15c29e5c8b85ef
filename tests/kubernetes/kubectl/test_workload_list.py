"""`kubectl tenure workloads` shows preemptibility and where it is written, in its table and its JSON."""

from io import StringIO
from typing import Any, Final

import pytest
from rich.console import Console
from tenure.kubernetes.plugin.access import KubeApi
from tenure.kubernetes.plugin.workload_list import print_workloads, read_workloads, workload_json

from tests.kubernetes.kubectl.test_notices import Objects, pod

KEY: Final = "kai.scheduler/preemptibility"
WRITTEN: Final[dict[str, tuple[dict[str, Any], dict[str, Any], str, str]]] = {
    "field": ({}, {"preemptibility": "semi-preemptible"}, "Semi-Preemptible", "field"),
    "annotation": ({"annotations": {KEY: "Non-Preemptible"}}, {}, "Non-Preemptible", "annotation"),
    "label": ({"labels": {KEY: "Preemptible"}}, {}, "Preemptible", "label"),
    "label of Volcano": ({"labels": {"volcano.sh/preemptable": "false"}}, {}, "Non-Preemptible", "label"),
    "both": (
        {"labels": {KEY: "Preemptible"}, "annotations": {KEY: "Non-Preemptible"}},
        {},
        "Non-Preemptible",
        "annotation",
    ),
    "nothing": ({}, {}, "", "priority"),
}


class Written(Objects):
    """A pod group with these metadata and fields."""

    def __init__(self, metadata: dict[str, Any], spec: dict[str, Any]) -> None:
        super().__init__(pod("train-0"))
        for group in self._lists["v2alpha2/namespaces/team/podgroups"]:
            group["metadata"].update(metadata)
            group["spec"].update(spec)


@pytest.mark.parametrize(("metadata", "spec", "mode", "source"), WRITTEN.values(), ids=WRITTEN)
def test_preemptibility_is_shown_with_its_source(
    metadata: dict[str, Any], spec: dict[str, Any], mode: str, source: str
) -> None:
    (found,) = read_workloads(KubeApi(Written(metadata, spec), "team"), "team", "kai-scheduler")
    row = workload_json(found)
    assert (row["preemptibility"], row["preemptibility_source"]) == (mode, source)
    console = Console(width=80, record=True, file=StringIO())
    print_workloads(console, [found], False)
    lines = console.export_text().splitlines()
    assert "Preemptibility" in lines[0]
    assert [text in " ".join(lines[2:]) for text in (mode, source)] == [True, True]
    assert max(map(len, lines)) <= 80


POOL: Final = {"kai.scheduler/node-pool": "a100"}
QUEUES: Final[dict[str, tuple[dict[str, str], str]]] = {
    "a queue": ({"kai.scheduler/queue": "q", "project": "vision"}, "q"),
    "a project": ({"project": "vision"}, "vision"),
    "a project in a node pool": ({"project": "vision", **POOL}, "vision-a100"),
    "nothing": (POOL, ""),
}


class Alone(Objects):
    """A pod without a pod group, with these labels."""

    def __init__(self, labels: dict[str, str]) -> None:
        item = pod("alone", labels=labels)
        item["metadata"].pop("annotations")
        self._lists = {"v1/namespaces/team/pods": (item,)}


@pytest.mark.parametrize(("labels", "queue"), QUEUES.values(), ids=QUEUES)
def test_queue_of_a_pod_without_a_pod_group_is_the_one_that_the_adapter_reads(
    labels: dict[str, str], queue: str
) -> None:
    (found,) = read_workloads(KubeApi(Alone(labels), "team"), "team", "kai-scheduler")
    assert workload_json(found)["queue"] == queue
