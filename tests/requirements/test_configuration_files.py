"""Configuration files and queues as administrators write them, read by the command `tenure`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.json_format import MessageToJson
from tenure.client import InvalidSnapshot
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, PREEMPTIBILITY_PREEMPTIBLE

from tests.cli.command import Tenure
from tests.requirements.answers import evicted, evicting_actions, result, verdict
from tests.requirements.cluster import NOW, ClusterText
from tests.requirements.conftest import Decide, DecideFile
from tests.requirements.profiles import FULL, configuration

EXAMPLE: Final = """
tiers:
- plugins:
  # other plugins...
{others}
  - name: minruntime
    arguments:
      defaultPreemptMinRuntime: "10m"
      defaultReclaimMinRuntime: "10m"
      reclaimResolveMethod: "lca"  # or "queue"
"""
"""The example of the documentation, with the other plugins written out."""


def example() -> str:
    return EXAMPLE.format(others="\n".join(f"  - name: {name}" for name in FULL if name != "minruntime"))


def contested(action: str, ran: str, **queue: Any) -> ClusterText:
    """`old` of queue `a` uses the only GPU. `new` needs it, of queue `a` or `b`."""
    cluster = (
        ClusterText().node().queue("b", quota=1).queue("a", quota=1 if action == "preempt" else 0, **queue)
    )
    cluster.runs("old", "a", ran=ran)
    return cluster.waits("new", "a" if action == "preempt" else "b", priority=75)


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_example_of_the_documentation_works_as_written(action: str, decide_file: DecideFile) -> None:
    """The ten minutes are those of the node pool: no queue has a value."""
    assert evicted(decide_file(contested(action, "9m59s"), example())) == []
    answer = decide_file(contested(action, "10m"), example())
    assert (evicted(answer), evicting_actions(answer)) == (["old-0"], [action])
    assert verdict(answer, "minruntime").source == "default of minruntime"


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_defaults_are_zero_without_arguments_and_without_a_file(action: str, decide_file: DecideFile) -> None:
    for file in ("", configuration()):
        assert evicted(decide_file(contested(action, "0s"), file)) == ["old-0"]


DURATIONS: Final = {"90s": 90, "1h30m": 5_400, "1.5h": 5_400, "1d": 86_400, "1w2d": 777_600, "0.5s": 1}


@pytest.mark.parametrize(("text", "length"), DURATIONS.items(), ids=DURATIONS)
def test_defaults_are_durations(text: str, length: int, decide_file: DecideFile) -> None:
    file = configuration({"minruntime": {"defaultPreemptMinRuntime": text}})
    assert evicted(decide_file(contested("preempt", f"{length - 1}s"), file)) == []
    assert evicted(decide_file(contested("preempt", f"{length}s"), file)) == ["old-0"]


INVALID: Final = {
    "a bare number": ("defaultPreemptMinRuntime", "5"),
    "a negative one": ("defaultReclaimMinRuntime", "-5s"),
    "no duration": ("defaultReclaimMinRuntime", "soon"),
    "another method": ("reclaimResolveMethod", "leaf"),
    "another key": ("defaultMinRuntime", "5m"),
}


@pytest.mark.parametrize(("key", "value"), INVALID.values(), ids=INVALID)
def test_invalid_arguments_are_refused_with_their_path(key: str, value: str, tenure: Tenure) -> None:
    error = error_of(tenure, configuration({"minruntime": {key: value}}))
    place = FULL.index("minruntime")
    assert error.startswith(f"tenure: scheduler.yaml: tiers[0].plugins[{place}].arguments.{key}: ")


def error_of(tenure: Tenure, file: str) -> str:
    """The error of a configuration file that the command refuses."""
    Path("cluster.json").write_text(MessageToJson(contested("preempt", "1h").snapshot))
    Path("scheduler.yaml").write_text(file)
    ended = tenure("decide", "cluster.json", "--config", "scheduler.yaml")
    assert (ended.code, ended.out) == (2, "")
    return ended.err


QUEUES: Final = {
    "the example of the documentation": ('preemptMinRuntime: "20s"\n  reclaimMinRuntime: "30s"', 20, 30),
    "names of the contract": ("preempt_min_runtime: 7s\n  reclaim_min_runtime: 600s", 7, 600),
}


@pytest.mark.parametrize(("fields", "preempt", "reclaim"), QUEUES.values(), ids=QUEUES)
def test_values_of_a_queue_are_read_as_written(
    fields: str, preempt: int, reclaim: int, decide_file: DecideFile
) -> None:
    for action, minimum in (("preempt", preempt), ("reclaim", reclaim)):
        for ran, expected in ((minimum - 1, []), (minimum, ["old-0"])):
            quota = 1_000 if action == "preempt" else 0
            text = f"""
clusterId: test
version: 1
now: 2023-11-14T22:13:20Z
nodes: [{{name: n, allocatable: {{cpuMilli: 1000, memoryBytes: 1000, gpuMilli: 1000, pods: 10}}}}]
queues:
- name: production
  gpuMilli: {{quota: {quota}}}
  {fields}
- {{name: other, gpuMilli: {{quota: 1000}}}}
podGroups:
- {{uid: old, queue: production, priority: 50, creationTime: "2023-01-01T00:00:00Z",
    lastStartTime: "{_time(NOW - ran)}"}}
- {{uid: new, queue: {"production" if action == "preempt" else "other"}, priority: 75,
    creationTime: "2023-01-01T00:00:01Z"}}
pods:
- {{uid: old-0, podGroup: old, shape: gpu, status: POD_STATUS_RUNNING, node: n}}
- {{uid: new-0, podGroup: new, shape: gpu, status: POD_STATUS_PENDING}}
shapes: [{{id: gpu, gpu: {{devices: 1}}}}]
"""
            assert evicted(decide_file(text)) == expected


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("field", ["preempt_min_runtime", "reclaim_min_runtime"])
def test_a_negative_minimum_of_a_queue_is_refused_with_its_path(field: str, decide: Decide) -> None:
    cluster = contested("preempt", "1h")
    getattr(cluster.snapshot.queues[1], field).seconds = -5
    with pytest.raises(InvalidSnapshot) as refused:
        decide(cluster)
    assert f"queues[1].{field}" in str(refused.value)


def overdue() -> ClusterText:
    """Half an hour past its expected runtime, with a contender of higher priority in another queue."""
    cluster = ClusterText().node().queue("b", quota=1).queue("a", quota=1)
    return cluster.runs("old", "a", expected_runtime="30m").waits("new", "b", priority=75)


def test_requeue_is_in_the_default_configuration(decide_file: DecideFile) -> None:
    answer = decide_file(overdue())
    assert (evicting_actions(answer), result(answer)) == (["requeue"], "REQUEUED")


WITHOUT: Final = {
    "the plugin": configuration(without="expectedruntime"),
    "the action": configuration(actions="allocate, reclaim, preempt"),
}


@pytest.mark.parametrize("file", WITHOUT.values(), ids=WITHOUT)
def test_requeue_is_switched_off_by_taking_out(file: str, decide_file: DecideFile) -> None:
    answer = decide_file(overdue(), file)
    assert (evicted(answer), result(answer)) == ([], "")


def test_expectedruntime_has_no_arguments(tenure: Tenure) -> None:
    error = error_of(tenure, configuration({"expectedruntime": {"after": "1h"}}))
    assert f"tiers[0].plugins[{FULL.index('expectedruntime')}].arguments.after: " in error


def test_preemptibility_is_enforced_whatever_the_file_lists(decide_file: DecideFile) -> None:
    """No configuration lists the plugin: it cannot be left out."""
    assert "preemptibility" not in FULL
    cluster = contested("preempt", "1h")
    cluster.group("old").preemptibility = PREEMPTIBILITY_NON_PREEMPTIBLE
    assert evicted(decide_file(cluster, configuration())) == []
    cluster.group("old").preemptibility = PREEMPTIBILITY_PREEMPTIBLE
    assert evicted(decide_file(cluster, configuration())) == ["old-0"]
