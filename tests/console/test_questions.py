"""What if, explanations and cycles that are decided again: answers of the service, within limits."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tenure.codec.engine import Engine
from tenure.console.access import MAX_QUERIES_PER_MINUTE, Access, Reader, TooManyQueries
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND

from tests.console.console_site import ReadSite, run_site, sample, with_runtimes


@pytest.fixture(scope="module")
def site() -> Iterator[ReadSite]:
    with run_site(sample()) as site:
        yield site


@pytest.mark.parametrize(
    ("query", "facts"),
    [
        (
            "queue=language&pods=2&gpus=1&priority=60",
            [
                "It starts when 2 pods of others have terminated",
                "sweep of vision loses",
                "by reclaim",
                "keeps running",
            ],
        ),
        ("queue=analytics&pods=1&gpus=0&cpus=2&priority=60", ["It starts at once, on free capacity"]),
        ("queue=vision&pods=1&gpus=8", ["It cannot start on this cluster"]),
        ("queue=analytics&pods=2&gpus=1&mode=non&priority=60", ["a quota or a limit does not permit it"]),
    ],
)
def test_what_if_answers_with_who_yields(site: ReadSite, query: str, facts: list[str]) -> None:
    text = site.text(f"what-if?run=1&{query}")
    for fact in [*facts, "True for state version 1", "Nothing is reserved"]:
        assert fact in text


def test_what_if_tells_who_gets_notice_first_and_when_the_workload_starts() -> None:
    snapshot, profile = sample(), default_profile()
    for queue in snapshot.queues:
        queue.notice.seconds = 120
    engine = Engine(replace(profile, options=replace(profile.options, max_notice=3600 * SECOND)))
    with run_site(snapshot, engine=engine) as site:
        text = site.text("what-if?run=1&queue=language&pods=2&gpus=1&priority=60")
    for fact in ("sweep of vision loses", "It gets notice first, and runs until", "when the notices end"):
        assert fact in text


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("queue=", "Choose a queue"),
        ("queue=research", "Choose a queue"),
        ("queue=vision&pods=0", "Write a whole number from 1 to 10,000."),
        ("queue=vision&pods=many", "Write a whole number"),
        ("queue=vision&gpus=1.5", "Write whole GPUs such as 2"),
        ("queue=vision&gpus=-1", "Write a number such as 2"),
        ("queue=vision&pods=2&minimum=3", "At most the number of pods, 2."),
        ("queue=vision&min_runtime=soon", "Write a duration such as 30m"),
        ("queue=vision&priority=99999999999", "Write a whole number"),
        ("queue=vision&mode=sometimes", "Some fields need another value"),
    ],
)
def test_field_that_cannot_be_used_is_named_with_the_fix(site: ReadSite, query: str, problem: str) -> None:
    assert problem in site.text(f"what-if?run=1&{query}")


def test_form_keeps_what_was_written(site: ReadSite) -> None:
    html = site.html("what-if?run=1&queue=vision&pods=many&name=mine&mode=semi")
    assert 'value="many"' in html
    assert 'value="mine"' in html
    assert 'value="semi" checked' in html


def test_simulation_changes_nothing(site: ReadSite) -> None:
    before = site.watch.states
    site.text("what-if?run=1&queue=language&pods=3")
    assert "what-if" not in site.text("workloads")
    assert site.watch.states == before


def test_another_site_cannot_make_the_service_simulate(site: ReadSite) -> None:
    for header in ("cross-site", "same-site"):
        response = site.http.get("what-if?run=1&queue=language", headers={"Sec-Fetch-Site": header})
        assert "The answer appears here" in response.text
        response = site.http.get(
            "explain?uid=finetune&question=protected_until", headers={"Sec-Fetch-Site": header}
        )
        assert "Open this page from the workload" in response.text


@pytest.mark.parametrize(
    ("uid", "question", "fact"),
    [
        ("nightly-eval", "why_pending", "What would help"),
        ("sweep", "why_victim", "evicted for"),
        ("finetune", "protected_until", "2025-03-03 10:42:00 UTC"),
    ],
)
def test_service_explains(site: ReadSite, uid: str, question: str, fact: str) -> None:
    assert fact in site.text(f"explain?uid={uid}&question={question}")


def test_service_tells_when_a_workload_starts_r17_23() -> None:
    with run_site(with_runtimes()) as site:
        text = site.text("explain?uid=nightly-eval&question=when_starts")
        assert "When it starts" in site.text("workload?uid=nightly-eval")
        assert "When it starts" not in site.text("workload?uid=sweep")
    for fact in (
        *("It starts at about 2025-03-03 10:45:00 UTC", "Place in its queue 1", "Likely start in 10m"),
        *("At the latest not known", "Certainty expected runtimes say so (others have no time limit)"),
        "Waits for the end of sweep in 10m",
    ):
        assert fact in text


def test_operators_see_who_is_right_before_a_workload_r17_20() -> None:
    snapshot = with_runtimes()
    (first,) = [group for group in snapshot.pod_groups if group.uid == "nightly-eval"]
    pods = [pod for pod in snapshot.pods if pod.pod_group == first.uid]
    second = snapshot.pod_groups.add()
    second.CopyFrom(first)
    second.uid = second.name = "second"
    second.creation_time.seconds += 1
    for number, pod in enumerate(pods):
        copy = snapshot.pods.add()
        copy.CopyFrom(pod)
        copy.pod_group, copy.uid, copy.name = second.uid, f"second-{number}", f"second-{number}"
    with run_site(snapshot) as site:
        text = site.text("explain?uid=second&question=when_starts")
    assert "Place in its queue 2" in text
    assert "Right before it nightly-eval" in text


def test_cycle_is_decided_again_byte_for_byte(site: ReadSite) -> None:
    html = site.html("decisions")
    number = html.partition('id="cycle-')[2].partition('"')[0]
    assert "exactly the same again, byte for byte" in site.text(f"replay?cycle={number}")
    assert "no longer kept" in site.text("replay?cycle=1", 404)


def test_readers_share_answers_and_have_limits() -> None:
    now = [0.0]
    access = Access(None, clock=lambda: now[0])  # type: ignore[arg-type]
    reader = Reader(None, b"", "reader")  # type: ignore[arg-type]
    for _ in range(MAX_QUERIES_PER_MINUTE):
        with access.query(reader):
            pass
    with pytest.raises(TooManyQueries), access.query(reader):
        pass
    now[0] = 61.0
    with access.query(reader):
        pass
