"""Reasons that packages of other authors declare, from their entry points to every reader."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tenure.client import Client
from tenure.client.public_messages import format_public_message
from tenure.client.snapshot_file import Format, decode
from tenure.codec.engine import Engine
from tenure.kubernetes.apply.conditions import build_condition
from tenure.render.sections import reason_name
from tenure.server.explain import Explainer
from tenure.server.installed import installed_registry
from tenure.solver.plugin_api import PluginConfig, Profile
from tenure.solver.testing import DEFAULT_PLUGINS, check_profile
from tenure.terms.custom_reason import MAX_REASONS
from tenure.v1 import decide_pb2 as pb
from tenure.v1 import decision_pb2
from tenure.v1.explain_pb2 import ExplainRequest, ExplainResponse

from tests.examples.full_node import SNAPSHOT
from tests.examples.installation import install
from tests.telemetry.external_programs import free_port
from tests.telemetry.telemetry_server import fetch_metrics, run_telemetry_server

EXAMPLES: Final = Path(__file__).parent
WRITING: Final = decision_pb2.CustomReason(
    domain="checkpoint",
    code="CheckpointRunning",
    clause="a checkpoint is being written",
    public_message="It is protected: it writes a checkpoint.",
    remedy="wait until the checkpoint is written",
)
SECRET: Final = "secret"
"""In the detail of the guard, which is for operators alone."""


class Answers(NamedTuple):
    """What a server with the guard of another package sends, and its metrics."""

    decided: pb.DecideResponse
    pending: ExplainResponse
    victim: ExplainResponse
    metrics: str


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    """Responses of `tenure serve`, which loads the package by its entry point and decides in a process."""
    folder, port = tmp_path_factory.mktemp("custom"), free_port()
    install(EXAMPLES / "checkpoint", folder / "site")
    request = pb.DecideRequest(snapshot=decode(SNAPSHOT.encode(), Format.YAML))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "site")
        with (
            run_telemetry_server(
                folder,
                solver="process",
                plugins={**{name: {} for name in DEFAULT_PLUGINS}, "checkpoint": {"queue": "q"}},
                actions="allocate, preempt",
                metricsListen=f"127.0.0.1:{port}",
            ) as (_, address),
            Client(address, timeout=30) as client,
        ):
            answer = client.decide(request.snapshot)
            pending = ExplainRequest(snapshot=request.snapshot)
            pending.why_pending.pod_group = "new"
            victim = ExplainRequest(snapshot=request.snapshot)
            victim.why_not_victim.pod_group, victim.why_not_victim.preemptor = "old", "new"
            explained = client.explain(pending), client.explain(victim)
            yield Answers(answer, *explained, fetch_metrics(port))


def reason_of(answers: Answers) -> decision_pb2.Reason:
    (outcome,) = answers.decided.outcomes
    return outcome.reason


def test_outcome_has_the_general_code_and_the_custom_reason(answers: Answers) -> None:
    reason = reason_of(answers)
    assert (reason.code, reason.source, reason.custom) == (
        decision_pb2.REASON_CODE_PROTECTED,
        "checkpoint",
        WRITING,
    )


@pytest.mark.parametrize("question", ["pending", "victim"])
def test_explanation_has_the_sentences_of_each_audience(answers: Answers, question: str) -> None:
    found = getattr(answers, question)
    text = found.explanation
    for audience in (text.public, text.tenant, text.operator):
        assert WRITING.clause in audience
    assert "checkpoint/CheckpointRunning: old writes to volume secret" in text.operator
    assert SECRET not in text.public + text.tenant
    assert WRITING in [reason.custom for reason in found.reasons]


def test_metrics_count_the_declared_code(answers: Answers) -> None:
    families = {each.name: each for each in text_string_to_metric_families(answers.metrics)}
    (sample,) = [s for s in families["tenure_custom_reasons"].samples if s.name.endswith("_total")]
    assert (sample.labels["domain"], sample.labels["reason"]) == ("checkpoint", "CheckpointRunning")
    pending = {s.labels.get("reason") for s in families["tenure_pending_reasons"].samples}
    assert pending == {"protected"}
    assert SECRET not in answers.metrics


def test_condition_names_it_and_no_other_workload(answers: Answers) -> None:
    condition = build_condition(answers.decided.outcomes[0])
    assert condition is not None
    assert (condition.reason, condition.code) == ("Delayed", "CheckpointCheckpointRunning")
    assert condition.message.endswith(f"is delayed: {WRITING.clause}.")


def test_owners_and_tables_read_its_texts(answers: Answers) -> None:
    reason = reason_of(answers)
    assert format_public_message(reason).startswith(f"{WRITING.public_message} This may change at ")
    assert reason_name(reason) == "checkpoint/CheckpointRunning"


def install_with(folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> None:
    """Install the guard with a change of its source."""
    install(EXAMPLES / "checkpoint", folder)
    module = folder / "tenure_checkpoint.py"
    module.write_text(change(module.read_text()))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(__import__("sys").modules, "tenure_checkpoint", raising=False)
    installed_registry.cache_clear()


@pytest.fixture(autouse=True)
def _fresh_registry() -> Iterator[None]:
    yield
    installed_registry.cache_clear()


REFUSED: Final[dict[str, tuple[str, str, str]]] = {
    "free text": ('"CheckpointRunning"', '"checkpoint of old"', "code: use UpperCamelCase with at most 40"),
    "a placeholder": ('"a checkpoint is', '"{queue} is', "clause: use one line of at most 200"),
    "two lines": ('"a checkpoint is', '"a\\nb', "clause: use one line of at most 200"),
    "no sentence": ('a checkpoint."', 'a checkpoint"', "public: use a sentence that ends with a period"),
    "too many": ("(WRITING,)", f"(WRITING,) * {MAX_REASONS + 1}", f"use at most {MAX_REASONS}"),
    "twice": ("(WRITING,)", "(WRITING, WRITING)", "CheckpointRunning is declared before; use another code"),
    "a text": ("(WRITING,)", '("CheckpointRunning",)', "its reasons contain str; use CustomReason"),
    "no list": ("(WRITING,)", "WRITING", "REASONS is no list; use a tuple of CustomReason"),
}


@pytest.mark.parametrize(("old", "new", "problem"), REFUSED.values(), ids=REFUSED)
def test_invalid_reasons_refuse_the_plugin_with_its_name_and_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, problem: str
) -> None:
    install_with(tmp_path, monkeypatch, lambda source: source.replace(old, new))
    used = Profile(("allocate",), (PluginConfig("checkpoint"),))
    ((path, text),) = check_profile(used, installed_registry())
    assert path == "plugins[0].name"
    assert text.startswith("checkpoint of tenure-checkpoint 1.0 cannot be loaded: ")
    assert problem in text


IMPORTS: Final = ("ProtectionScope,\n", "ProtectionScope,\n    ReasonCode,\n")
UNDECLARED: Final = {
    "not in REASONS": ("    REASONS = (WRITING,)\n", ""),
    "another base": ("custom=WRITING)", "reason=ReasonCode.MIN_RUNTIME, custom=WRITING)"),
}


@pytest.mark.parametrize(("old", "new"), UNDECLARED.values(), ids=UNDECLARED)
def test_reason_that_is_not_declared_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    install_with(tmp_path, monkeypatch, lambda source: source.replace(old, new).replace(*IMPORTS))
    plugins = (*map(PluginConfig, DEFAULT_PLUGINS), PluginConfig("checkpoint", {"queue": "q"}))
    answer = decided(Profile(("allocate", "preempt"), plugins))
    assert answer.outcomes[0].reason.source == "checkpoint"
    assert not answer.outcomes[0].reason.HasField("custom")


def decided(profile: Profile) -> Any:
    request = pb.DecideRequest(snapshot=decode(SNAPSHOT.encode(), Format.YAML))
    encoded = Engine(profile, installed_registry()).decide(request)
    assert not encoded.summary.custom_reasons
    return encoded.parse()


@pytest.fixture
def timeslice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A profile with the installed action."""
    install(EXAMPLES / "timeslice", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    installed_registry.cache_clear()
    return Profile(("allocate", "timeslice"), tuple(map(PluginConfig, DEFAULT_PLUGINS)))


def test_evictions_of_an_action_have_its_reason(timeslice: Profile) -> None:
    answer = decided(timeslice)
    (reason,) = [each.reason for each in answer.groups[0].decisions if each.HasField("evict")]
    assert (reason.code, reason.custom.domain, reason.custom.code) == (
        decision_pb2.REASON_CODE_PREEMPTED,
        "timeslice",
        "SliceOver",
    )
    assert reason.message == (
        "Pod p of pod group old (queue q) is evicted for pod group new (queue q) "
        "because its time slice is over."
    )
    assert format_public_message(reason) == "Its time slice is over."


def test_explanation_of_an_eviction_has_the_clause_of_its_action(timeslice: Profile) -> None:
    question = ExplainRequest(snapshot=decode(SNAPSHOT.encode(), Format.YAML))
    question.why_victim.pod_group = "old"
    found = Explainer(timeslice, installed_registry()).explain(question)
    assert "by timeslice: its time slice is over." in found.explanation.operator
    assert [each.custom.code for each in found.reasons] == ["SliceOver"]
