"""`tenure simulate` and `tenure explain`: the command lines around the questions."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from tenure.server.cli import main

from tests.server.running import server_here

SAMPLE = str(Path(__file__).parents[2] / "server/tenure/server/samples/two-departments.yaml")
PROBE = """
pod_groups:
  - {uid: probe, name: probe, queue: vision, priority: 60, creation_time: "2025-03-03T10:35:00Z"}
pods:
  - {uid: probe-0, pod_group: probe, shape: one-gpu, status: POD_STATUS_PENDING}
"""


class Ended(NamedTuple):
    """What a command returned and said."""

    code: int
    out: str
    err: str


Tenure = Callable[..., Ended]


@pytest.fixture
def tenure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tenure:
    """Runs a command on the sample."""
    monkeypatch.setenv("COLUMNS", "200")

    def command(name: str, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["tenure", name, SAMPLE, *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return command


@pytest.fixture
def probe(tmp_path: Path) -> str:
    file = tmp_path / "probe.yaml"
    file.write_text(PROBE)
    return str(file)


def said(ended: Ended) -> str:
    assert (ended.code, ended.err) == (0, "")
    return " ".join(ended.out.split())


def test_what_a_new_job_changes_is_shown_beside_what_happens_anyway(tenure: Tenure, probe: str) -> None:
    out = said(tenure("simulate", "--with", probe))
    assert "probe vision does not exist" in out
    assert "A simulation promises nothing" in out


def test_without_a_change_nothing_is_different(tenure: Tenure) -> None:
    assert "Nothing is different from what is decided anyway." in said(tenure("simulate"))


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("node=gpu-4", "notebook analytics is left alone cannot run on the cluster as it is"),
        ("pod_group=distill", "distill language starts 2 pods soon does not exist"),
        ("pod=sweep-4", "sweep vision loses 2 pods to distill loses 1 pod to distill"),
        ("queue=analytics", "month-end analytics starts 1 pod soon cannot be scheduled as it is described"),
    ],
)
def test_what_is_taken_away_is_gone_with_all_that_hangs_on_it(tenure: Tenure, what: str, line: str) -> None:
    assert line in said(tenure("simulate", "--without", what))


def test_every_cycle_is_shown(tenure: Tenure) -> None:
    out = said(tenure("simulate", "--without", "pod_group=distill", "--cycles", "3", "--interval", "30s"))
    assert [f"Cycle {n}. At 10:3{m} UTC" in out for n, m in ((1, 5), (2, 5), (3, 6))] == [True] * 3


def test_the_time_may_lie_in_the_future(tenure: Tenure) -> None:
    out = said(tenure("simulate", "--now", "2025-03-03T10:42:00Z"))
    assert "finetune vision is left alone loses 1 pod to distill" in out


def test_json_has_the_answers_of_all_cycles(tenure: Tenure, probe: str) -> None:
    answer = json.loads(tenure("simulate", "--with", probe, "--cycles", "2", "--output", "json").out)
    assert [each["based_on"]["now"] for each in answer["cycles"]] == [
        "2025-03-03T10:35:00Z",
        "2025-03-03T10:36:00Z",
    ]


QUESTIONS = (
    ("why-pending", "nightly-eval"),
    ("why-victim", "sweep"),
    ("why-not", "finetune", "--for", "distill"),
    ("protected", "finetune"),
)


def test_a_server_says_the_same(tenure: Tenure, probe: str) -> None:
    with server_here() as (_, address):
        for command in (("simulate", "--with", probe), *(("explain", *question) for question in QUESTIONS)):
            assert tenure(*command, "--server", address) == tenure(*command)


def test_what_would_help_is_listed(tenure: Tenure) -> None:
    out = tenure("explain", "why-pending", "nightly-eval").out
    assert "What would help:\n· raise its priority from 40 to 41; 1 pod of others would be evicted" in out


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("audience", ["public", "tenant"])
def test_json_for_others_has_no_more_than_they_may_know(
    tenure: Tenure, question: tuple[str, ...], audience: str
) -> None:
    answer = json.loads(tenure("explain", *question, "--audience", audience, "--output", "json").out)
    assert list(answer["explanation"]) == [audience]
    assert not {"reasons", "protections"} & set(answer)
    assert all(list(each["explanation"]) == [audience] for each in answer.get("remedies", []))
    assert "sweep" not in json.dumps(answer) or "sweep" in question


def test_json_for_operators_has_everything(tenure: Tenure) -> None:
    answer = json.loads(tenure("explain", *QUESTIONS[0], "--output", "json").out)
    assert {"explanation", "reasons", "remedies"} <= set(answer)
    assert list(answer["explanation"]) == ["public", "tenant", "operator"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("explain", "why-pending", "nightly"),
            "there is no pod group 'nightly'; did you mean nightly-eval?",
        ),
        (("explain", "why-pending", "zzz"), "there is no pod group 'zzz'\n"),
        (("explain", "why-not", "sweep"), "goes with why-not, and why-not needs it"),
        (("explain", "protected", "sweep", "--for", "x"), "goes with why-not, and why-not needs it"),
        (("explain", "why-not", "sweep", "--for", "distil"), "did you mean distill?"),
        (
            ("simulate", "--without", "gpu-4"),
            "'gpu-4' is not KIND=KEY with a kind of node, queue, pod_group, pod",
        ),
        (("simulate", "--without", "node=gpu-9"), "there is no node 'gpu-9'; did you mean gpu-"),
        (("simulate", "--without", "queue=visio"), "there is no queue 'visio'; did you mean vision?"),
        (("simulate", "--without", "pod=x"), "there is no pod 'x'"),
        (("simulate", "--interval", "5"), "'5' is not a duration"),
        (("simulate", "--interval", "0s"), "interval: is not above zero"),
        (("simulate", "--now", "noon"), "'noon' is not a time; write it like 2025-03-03T10:42:00Z"),
        (("simulate", "--cycles", "101"), "Invalid value for '--cycles'"),
        (("simulate", "--with", "missing.yaml"), "missing.yaml: cannot be read"),
        (
            ("simulate", "--server", "localhost:1", "--config", "x"),
            "a server decides with its own configuration",
        ),
    ],
)
def test_what_must_be_mended_is_said(tenure: Tenure, arguments: tuple[str, ...], said: str) -> None:
    ended = tenure(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err
