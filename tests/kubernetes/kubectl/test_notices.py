"""Notices of eviction in `kubectl tenure`: of workloads, by what is on their pods, and in forecasts."""

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from tenure.kubernetes.plugin.access import KubeApi
from tenure.kubernetes.plugin.what_if import PodGroupForecast, forecast_text
from tenure.kubernetes.plugin.why import print_why
from tenure.kubernetes.plugin.workload_list import (
    WorkloadObjects,
    print_workloads,
    read_workloads,
    workload_json,
)

END = "2027-01-15T08:02:00Z"
TOLD = "The pod is to be evicted: save its work."


def pod(name: str, evict_time: str = "", **metadata: Any) -> dict[str, Any]:
    """A running pod of the pod group `train`, perhaps with notice."""
    annotations = {"pod-group-name": "train"} | (
        {"tenure.scheduler/evict-time": evict_time} if evict_time else {}
    )
    told = {"type": "tenure.scheduler/EvictionNotice", "status": "True", "message": TOLD}
    return {
        "metadata": {"name": name, "namespace": "team", "uid": name, "annotations": annotations, **metadata},
        "spec": {"schedulerName": "kai-scheduler", "nodeName": "n1"},
        "status": {"phase": "Running", "conditions": [told] if evict_time else []},
    }


class Objects:
    """Lists of objects by the end of their path, as the API server returns them."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        group = {"metadata": {"name": "train", "namespace": "team", "uid": "g"}, "spec": {"queue": "q"}}
        self._lists = {"v1/namespaces/team/pods": pods, "v2alpha2/namespaces/team/podgroups": (group,)}

    def get(self, path: str) -> bytes:
        found = next((rows for end, rows in self._lists.items() if path.split("?")[0].endswith(end)), ())
        return json.dumps({"items": list(found), "metadata": {}}).encode()


def workload(*pods: dict[str, Any]) -> WorkloadObjects:
    (found,) = read_workloads(KubeApi(Objects(*pods), "team"), "team", "kai-scheduler")
    return found


def printed(show: Any) -> str:
    console = Console(width=80, record=True, file=StringIO())
    show(console)
    return " ".join(console.export_text().split())


@pytest.mark.parametrize(
    ("pods", "evict_time", "number", "sentence"),
    [
        ([pod("a")], "", 0, ""),
        ([pod("a", END)], END, 1, f"Notice of eviction: it, at {END}. {TOLD}"),
        (
            [pod("a", END), pod("b"), pod("c", "2027-01-15T08:01:00Z")],
            "2027-01-15T08:01:00Z",
            2,
            f"Notice of eviction: 2 of its pods, at 2027-01-15T08:01:00Z. {TOLD}",
        ),
        ([pod("a", END, deletionTimestamp=END)], "", 0, ""),
    ],
)
def test_workload_tells_when_its_pods_with_notice_are_evicted(
    pods: list[dict[str, Any]], evict_time: str, number: int, sentence: str
) -> None:
    found = workload(*pods)
    row = workload_json(found)
    assert (row["evict_time"], row["pods_with_notice"]) == (evict_time, number)
    why = printed(lambda console: print_why(console, found, []))
    assert sentence in why
    assert ("Notice of eviction" in why) == bool(number)
    table = printed(lambda console: print_workloads(console, [found], False))
    assert (f"evicted at {evict_time}" in table) == bool(number)


def test_forecast_tells_who_gets_notice_and_until_when() -> None:
    victim = {"namespace": "team", "pod_group": "train"}
    evicted = tuple({**victim, "pod": name, "evict_time": END} for name in "ab")
    told = PodGroupForecast("team", "urgent", "later", "", ("n1",), evicted)
    assert f"evicted for it at {END}, after notice: 2 pods of team/train" in forecast_text(told)
    at_once = told._replace(evicted=({**victim, "pod": "a"},))
    assert forecast_text(at_once).endswith("evicted for it: 1 pod of team/train")
