"""`kubectl tenure set` writes what the adapter reads, on workloads and on queues."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from tenure.kubernetes.objects import names
from tenure.kubernetes.plugin.assign import SETTINGS
from tenure.kubernetes.plugin.main import app
from typer.testing import CliRunner

from tests.kubernetes.adapter.adapter_stage import AdapterStage, open_stage
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.resource_definitions import KAI_QUEUE
from tests.server.servers import run_server

Set = Callable[..., tuple[int, str]]
_QUEUES: Final = f"/apis/{KAI_QUEUE.api_version}/queues"


@pytest.fixture
def stage(tmp_path: Path) -> Any:
    with run_server() as (_, address), open_stage(tmp_path, address, "set") as made:
        yield made


@pytest.fixture
def set_value(stage: AdapterStage) -> Set:
    """Run the command in the namespace of the cluster: exit code and output."""

    def run(*words: str) -> tuple[int, str]:
        within = ["-n", stage.cluster.namespace, "--kubeconfig", str(stage.api.kubeconfig())]
        ended = CliRunner().invoke(app, ["set", *words, *within])
        return ended.exit_code, re.sub(r"[\s│]+", " ", ended.output)

    return run


def annotations_of_queue(stage: AdapterStage, name: str) -> dict[str, str]:
    found = json.loads(stage.cluster.transport.get(f"{_QUEUES}/{name}"))
    return dict(found["metadata"].get("annotations") or {})


def test_queue_requeues_its_workloads_by_what_is_set_on_it(stage: AdapterStage, set_value: Set) -> None:
    cluster = stage.cluster
    for setting, value in (("expected-runtime", "1s"), ("requeue-delay", "45m")):
        assert set_value(setting, "queue/q", value) == (0, f"queue/q: {setting} set to {value} ")
    cluster.workload("long", 1, 4, annotations={"kai.scheduler/last-start-timestamp": "2020-01-01T00:00:00Z"})
    cluster.workload("fixed", 1, 4, annotations={"kai.scheduler/expected-runtime": "100h"})
    stage.start("long-0", "fixed-0")
    cluster.workload("waits", 1, 4, queue="other", priority="high")
    with stage.adapter():
        wait_until(lambda: cluster.running("waits") == 1)
        noted = cluster.wait_for_annotations("long", "requeue-not-before", "last-eviction-timestamp")
    assert stage.sent("eviction") == ["long-0"]
    assert noted["requeue-not-before"][14:16] != noted["last-eviction-timestamp"][14:16]
    assert set_value("requeue-delay", "queue/q", "-") == (0, "queue/q: requeue-delay removed ")
    assert annotations_of_queue(stage, "q") == {names.EXPECTED_RUNTIME: "1s"}


def test_queue_may_have_zero_and_a_workload_no_runtime_of_zero(stage: AdapterStage, set_value: Set) -> None:
    stage.cluster.workload("w", 1, 1)
    assert set_value("expected-runtime", "queues/q", "0s")[0] == 0
    assert annotations_of_queue(stage, "q") == {names.EXPECTED_RUNTIME: "0s"}
    assert "is not above zero" in set_value("expected-runtime", "podgroup/w", "0s")[1]
    assert set_value("requeue-delay", "podgroup/w", "0s")[0] == 0
    assert stage.cluster.annotations_of("w") == {"requeue-delay": "0s"}


@pytest.mark.parametrize("setting", sorted({*SETTINGS} - {"expected-runtime", "requeue-delay"}))
def test_what_queues_do_not_have_is_refused(set_value: Set, setting: str) -> None:
    code, output = set_value(setting, "queue/q", "1h")
    assert (code, "queues have expected-runtime and requeue-delay only" in output) == (2, True)


@pytest.mark.parametrize("setting", ["expected-runtime", "requeue-delay"])
@pytest.mark.parametrize("value", ["-5s", "soon", ""])
def test_invalid_value_of_a_queue_is_refused(
    stage: AdapterStage, set_value: Set, setting: str, value: str
) -> None:
    assert set_value(setting, "queue/q", "--", value)[0] == 2
    assert annotations_of_queue(stage, "q") == {}
