"""`tenure simulate` with jobs as people write them, with another configuration, and over many cycles."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import CommandResult, Tenure, in_process
from tests.server.servers import run_server

SAMPLE = str(Path(__file__).parents[2] / "server/tenure/cli/samples/two-departments.yaml")
GENTLE = "actions: allocate\n"
"""A configuration that evicts nobody."""


@pytest.fixture
def simulate(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tenure:
    """Run `tenure simulate` on the sample; return its exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")
    tenure = in_process(monkeypatch, capsys)

    def run(*arguments: str) -> CommandResult:
        code, out, err = tenure("simulate", SAMPLE, *arguments)
        return CommandResult(code, " ".join(out.split()), err)

    return run


@pytest.fixture
def gentle(tmp_path: Path) -> str:
    file = tmp_path / "gentle.yaml"
    file.write_text(GENTLE)
    return str(file)


def printed(result: CommandResult) -> str:
    code, out, err = result
    assert (code, err) == (0, "")
    return out


@pytest.mark.parametrize(
    ("job", "row"),
    {
        "queue=language priority=60": "job language does not exist 1 pod waiting for capacity",
        "queue=language,priority=60": "job language does not exist 1 pod waiting for capacity",
        "queue=language gpus=0.5 priority=60": "job language does not exist 1 pod waiting for capacity",
        "queue=language gpus=0 cpus=8": "job language does not exist 1 pod scheduled",
        "queue=language gpus=0 pods=3 name=loader": "loader language does not exist 3 pods scheduled",
        "queue=language gpus=0 cpus=65": "job language does not exist cannot be scheduled",
        "queue=language gpus=5": "job language does not exist cannot be scheduled",
    }.items(),
)
def test_job_is_written_in_one_line(simulate: Tenure, job: str, row: str) -> None:
    assert row in printed(simulate("--with", job))


def upserts(monkeypatch: pytest.MonkeyPatch, simulate: Tenure, *arguments: str) -> dict[str, Any]:
    """The rows that a command adds, as the server would receive them."""
    from google.protobuf.json_format import MessageToDict
    from tenure.cli import local_or_remote

    sent: list[dict[str, Any]] = []
    request_simulation = local_or_remote.request_simulation

    def record(request: Any, *rest: Any) -> Any:
        sent.append(MessageToDict(request.upserts, preserving_proto_field_name=True))
        return request_simulation(request, *rest)

    monkeypatch.setattr(local_or_remote, "request_simulation", record)
    printed(simulate(*arguments))
    return sent[0]


def test_job_is_a_gang_with_defaults_that_starts_at_the_time_of_the_cycle(
    monkeypatch: pytest.MonkeyPatch, simulate: Tenure
) -> None:
    now = "2025-03-03T10:42:00Z"
    rows = upserts(monkeypatch, simulate, "--with", "queue=vision pods=2", "--now", now)
    assert rows["pod_groups"] == [
        {
            "uid": "job",
            "name": "job",
            "queue": "vision",
            "priority": 50,
            "min_member": 2,
            "creation_time": now,
        }
    ]
    (shape,) = rows["shapes"]
    assert shape["gpu"] == {"devices": "1"}
    assert [(pod["uid"], pod["shape"], pod["status"], pod["creation_time"]) for pod in rows["pods"]] == [
        (f"job-{number}", shape["id"], "POD_STATUS_PENDING", now) for number in range(2)
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Preemptible", "PREEMPTIBILITY_PREEMPTIBLE"),
        ("Non-Preemptible", "PREEMPTIBILITY_NON_PREEMPTIBLE"),
        ("semipreemptible", "PREEMPTIBILITY_SEMI_PREEMPTIBLE"),
    ],
)
def test_job_may_state_its_preemptibility(
    monkeypatch: pytest.MonkeyPatch, simulate: Tenure, text: str, value: str
) -> None:
    rows = upserts(monkeypatch, simulate, "--with", f"queue=vision gpus=0 preemptibility={text}")
    assert rows["pod_groups"][0]["preemptibility"] == value


def test_preemptibility_of_a_job_decides_whether_it_starts_beyond_the_quota(simulate: Tenure) -> None:
    job = "queue=vision gpus=1 pods=8 priority=40"
    beyond = "its non-preemptible pods would exceed the GPU quota of queue vision"
    assert beyond in printed(simulate("--with", f"{job} preemptibility=Non-Preemptible"))
    assert beyond not in printed(simulate("--with", f"{job} preemptibility=Preemptible"))
    assert beyond not in printed(simulate("--with", job))


def test_jobs_without_a_name_get_different_ones(simulate: Tenure) -> None:
    out = printed(simulate("--with", "queue=vision gpus=0", "--with", "queue=language gpus=0"))
    assert "job vision does not exist 1 pod scheduled" in out
    assert "job-2 language does not exist 1 pod scheduled" in out


def test_job_may_be_in_a_queue_of_a_file(simulate: Tenure, tmp_path: Path) -> None:
    file = tmp_path / "queue=new.yaml"
    file.write_text("queues: [{name: robotics, parent: research}]")
    out = printed(simulate("--with", "queue=robotics gpus=0", "--with", f"{file}"))
    assert "job robotics does not exist 1 pod scheduled" in out


EXAMPLE = '"queue=vision gpus=2 pods=4 priority=50"'


@pytest.mark.parametrize(
    ("arguments", "message"),
    {
        ("--with", "queue=visio"): "unknown queue 'visio'; did you mean vision?",
        ("--with", "gpus=2"): f"a job needs queue=NAME, as in {EXAMPLE}",
        ("--with", "queue=vision preemptibility=maybe"): (
            "preemptibility=maybe: must be one of Preemptible, Non-Preemptible, Semi-Preemptible"
        ),
        ("--with", "queue=vision gpus"): f"'gpus' is not KEY=VALUE; write a job like {EXAMPLE}",
        ("--with", "queue=vision gpus="): f"'gpus=' is not KEY=VALUE; write a job like {EXAMPLE}",
        ("--with", "queue=vision gpu=2"): "'gpu' is not a key of a job; did you mean gpus?",
        ("--with", "queue=vision x=2"): "'x' is not a key of a job; known: queue, gpus, pods, ",
        ("--with", "queue=vision queue=vision"): "queue is given twice",
        ("--with", "queue=vision gpus=two"): "gpus=two: must be a number such as 2 or 0.5",
        ("--with", "queue=vision gpus=1.5"): "gpus=1.5: must be whole GPUs, or a part of one such as 0.5",
        ("--with", "queue=vision gpus=-1"): "gpus=-1: must be a number such as 2 or 0.5",
        ("--with", "queue=vision pods=0"): "pods=0: must be a number of pods from 1 to 100,000",
        ("--with", "queue=vision pods=1000000"): "must be a number of pods from 1 to 100,000",
        ("--with", "queue=vision priority=high"): "priority=high: must be a whole number such as 50",
        ("--with", "queue=vision priority=3000000000"): "must be a whole number such as 50",
        ("--with", "queue=vision name=sweep"): "a pod group 'sweep' exists; use another name=NAME",
        ("--in-force", "x.yaml", "--server", "localhost:1"): "the configuration of the server is in force",
        ("--config", "missing.yaml"): "missing.yaml: cannot be read",
        ("--interval", "-1m"): "'-1m' is not a duration of zero or more: write it like 30s, 1h30m or 2d",
    }.items(),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_invalid_change_is_reported_with_the_fix(
    simulate: Tenure, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = simulate(*arguments)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_other_configuration_is_compared_with_the_default_profile(simulate: Tenure, gentle: str) -> None:
    out = printed(simulate("--config", gentle))
    assert "Pod group Queue In force With gentle.yaml" in out
    assert "sweep vision evicted: 2 pods for distill keeps running" in out
    assert "distill language 2 pods waiting for capacity " in out


def test_other_configuration_is_compared_with_the_one_in_force(simulate: Tenure, gentle: str) -> None:
    assert "No outcome changes." in printed(simulate("--config", gentle, "--in-force", gentle))


def test_other_configuration_is_compared_with_that_of_the_server(simulate: Tenure, gentle: str) -> None:
    with run_server() as (_, address):
        assert simulate("--config", gentle, "--server", address) == simulate("--config", gentle)


def test_changes_apply_to_the_other_configuration_only(simulate: Tenure, gentle: str) -> None:
    out = printed(simulate("--config", gentle, "--with", "queue=language gpus=0"))
    assert "Pod group Queue In force With gentle.yaml and the changes" in out
    assert "job language does not exist 1 pod scheduled" in out


def test_both_configurations_decide_at_the_given_time(simulate: Tenure, gentle: str) -> None:
    out = printed(simulate("--config", gentle, "--now", "2025-03-03T10:42:00Z"))
    assert "finetune vision evicted: 1 pod for distill keeps running" in out


def test_json_has_the_cycles_with_the_other_configuration(simulate: Tenure, gentle: str) -> None:
    answer = json.loads(printed(simulate("--config", gentle, "--cycles", "2", "--output", "json")))
    assert len(answer["cycles"]) == 2
    assert {group["action"] for cycle in answer["cycles"] for group in cycle.get("groups", [])} == {
        "allocate"
    }


def test_equal_cycles_are_printed_once_and_others_say_what_happens(simulate: Tenure) -> None:
    out = printed(simulate("--with", "queue=language gpus=0", "--cycles", "60"))
    first, _, rest = out.partition("Cycle 2, 10:36 UTC: ")
    assert first.startswith("Cycle 1, 10:35 UTC: 3 pod groups scheduled, ")
    assert "Baseline With the changes" in first
    assert "job language does not exist 1 pod scheduled" in first
    assert "Same in both Pod group Queue Outcome" in first
    assert "distill language 2 pods scheduled" in rest
    assert rest.count("No outcome changes.") <= 3
    assert "to 60, 10:38 UTC to 11:34 UTC: 3 pod groups pending. No outcome changes. Simulation only" in rest


def test_changed_outcome_that_lasts_is_printed_when_it_begins(simulate: Tenure, gentle: str) -> None:
    out = printed(simulate("--config", gentle, "--cycles", "30"))
    begun = "month-end analytics keeps running "
    assert (out.count(begun), out.count("as in the cycle before.")) == (1, 3)
