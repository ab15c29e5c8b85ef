"""Each page says what the service decided, in words, for people without JavaScript as well."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from tenure.codec.engine import Engine
from tenure.console.http_guard import HEADERS
from tenure.solver.plugin_api.profile import PluginConfig
from tenure.solver.registry import default_profile
from tenure.terms.durations import SECOND
from tenure.v1.snapshot_pb2 import HoldReason

from tests.console.console_site import ReadSite, run_site, sample, with_runtimes
from tests.requirements.cluster import ClusterText


@pytest.fixture(scope="module")
def site() -> Iterator[ReadSite]:
    with run_site(sample()) as site:
        yield site


@pytest.mark.parametrize(
    ("path", "facts"),
    [
        (
            "queues",
            ["GPUs allocated 15.5 of 16", "10m against other queues", "5m against own queue, from product"],
        ),
        ("queues", ["In research language 3 lends to ⟶ vision +3"]),
        ("queues?resource=cpu", ["CPU cores allocated 124 of 256"]),
        (
            "workloads",
            [
                "1-13 of 13",
                "Protected until",
                "Cooldown",
                "Why it waits",
                "Within fair share: the other queues",
            ],
        ),
        (
            "workload?uid=sweep",
            ["vision in research", "Nothing protects it now", "created", "2 pods evicted for distill"],
        ),
        (
            "workload?uid=finetune",
            ["minruntime : protected from other queues of research until 10:42:00 UTC"],
        ),
        ("workload?uid=nightly-eval", ["Why it waits", "Ask the service what would help"]),
        ("decisions", ["reclaim distill reserves 2 pods", "evicts 2 pods of sweep", "preempt month-end"]),
        ("decisions?action=reclaim", ["distill"]),
        ("nodes", ["gpu-1", "4 of 4", "analytics 3", "language 2"]),
        ("nodes", ["Free GPUs that the workloads cannot use: "]),
        ("health", ["serving", "in 7m", "expectedruntime", "simulated"]),
        ("what-if", ["Preemptible May be evicted for others", "Runs to completion once started"]),
    ],
)
def test_page_has_the_facts(site: ReadSite, path: str, facts: list[str]) -> None:
    text = site.text(path)
    for fact in facts:
        assert fact in text


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        (
            "finetune",
            [
                "running",
                "vision",
                "Preemptible from its field",
                "1/1 min 1",
                "in 7m",
                "from other queues of research",
            ],
        ),
        ("notebook", ["Non-Preemptible from its field", "while running from all"]),
        ("sweep", ["5/5 min 2"]),
        ("distill", ["starts soon", "0/2 min 2"]),
        ("nightly-eval", ["waiting", "0/1", "2m"]),
        ("captioner", ["starting", "0.4"]),
    ],
)
def test_grid_has_the_columns_of_preemptibility(site: ReadSite, name: str, facts: list[str]) -> None:
    row = site.row("workloads", name)
    for fact in facts:
        assert fact in row


def test_filters_and_orders_are_in_the_url(site: ReadSite) -> None:
    assert "1-3 of 3" in site.text("workloads?queue=vision")
    assert "1-5 of 5" in site.text("workloads?queue=research")
    assert "1-2 of 2" in site.text("workloads?preemptibility=Non-Preemptible")
    assert "1-1 of 1" in site.text("workloads?q=FINE")
    html = site.html("workloads?sort=priority")
    assert html.index(">chat-api<") < html.index(">notebook<") < html.index(">finetune<")
    assert 'aria-sort="ascending"' in html


def test_unknown_workload_is_a_page_with_the_status_404(site: ReadSite) -> None:
    assert "There is no such workload now" in site.text("workload?uid=gone", 404)


def test_every_response_has_the_security_headers(site: ReadSite) -> None:
    for path in ("queues", "healthz", "nowhere", "workloads.csv", "workload?uid=gone"):
        headers = site.http.get(path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_pages_have_no_inline_script_or_style_and_refer_to_nothing_else(site: ReadSite) -> None:
    for path in ("queues", "workloads", "workload?uid=sweep", "decisions", "what-if", "nodes", "health"):
        html = site.html(path)
        assert " style=" not in html
        assert "<style" not in html
        assert html.count("<script") == html.count('<script src="static/')
        assert "://" not in html.replace("http://www.w3.org", "")


def test_assets_are_kept_for_ever_under_their_digest(site: ReadSite) -> None:
    html = site.html("queues")
    path = html.partition('href="')[2].partition('"')[0]
    response = site.http.get(path)
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]
    name = path.rpartition("/")[2]
    assert site.http.get(f"static/0000000000000000/{name}").status_code == 404


def test_only_reads_are_accepted(site: ReadSite) -> None:
    for path in ("queues", "what-if", "workloads.csv"):
        assert site.http.post(path).status_code == 405


def test_csv_has_all_rows_of_the_filter(site: ReadSite) -> None:
    lines = site.http.get("workloads.csv?queue=vision").text.splitlines()
    assert lines[0].startswith("uid,name,namespace,queue,state,priority,preemptibility")
    assert sorted(line.split(",")[0] for line in lines[1:]) == ["finetune", "nightly-eval", "sweep"]


def test_without_a_state_the_page_says_so() -> None:
    with run_site() as site:
        assert "No scheduler has pushed a state yet" in site.text("queues", 503)


def test_held_workload_says_what_holds_it() -> None:
    snapshot = sample()
    (group,) = (each for each in snapshot.pod_groups if each.uid == "nightly-eval")
    group.held_by = HoldReason.HOLD_REASON_EVICTED
    group.last_eviction_time.seconds = snapshot.now.seconds - 60
    with run_site(snapshot) as site:
        assert "held" in site.row("workloads", "nightly-eval")
        assert "1-1 of 1" in site.text("workloads?state=held")
        assert "Held by its eviction, until it is released" in site.text("workload?uid=nightly-eval")
    group.release_time.seconds = snapshot.now.seconds
    with run_site(snapshot) as site:
        assert "held" not in site.row("workloads", "nightly-eval")


ODD = {
    " ": "Preemptible ⚠ from its priority",
    "-preemptible": "Non-Preemptible ⚠ from its annotation, which is unknown",
    "pre-emptible": "Non-Preemptible ⚠ from its annotation, which is unknown",
    "preemptible-": "Non-Preemptible ⚠ from its annotation, which is unknown",
    "SEMI-preemptible": "Semi-Preemptible from its annotation",
}


def test_preemptibility_is_that_of_the_solver_r8_20() -> None:
    """Not one of these texts is read by the console itself."""
    snapshot = sample()
    groups = [each for each in snapshot.pod_groups if each.HasField("last_start_time")]
    for group, text in zip(groups, ODD, strict=False):
        group.ClearField("preemptibility")
        group.priority = 50
        group.annotations["kai.scheduler/preemptibility"] = text
    with run_site(snapshot) as site:
        for group, shown in zip(groups, ODD.values(), strict=False):
            assert shown in site.row("workloads", group.name)


def test_delayed_workload_says_until_when() -> None:
    """R19.25: it waits for its time alone; a hold of its owner would come first."""
    snapshot = sample()
    (group,) = (each for each in snapshot.pod_groups if each.uid == "nightly-eval")
    group.not_before_time.seconds = snapshot.now.seconds + 600
    with run_site(snapshot) as site:
        assert "delayed" in site.row("workloads", "nightly-eval")
        assert "Held by the time before which it may not start, 10:45:00" in site.text(
            "workload?uid=nightly-eval"
        )
    group.held_by = HoldReason.HOLD_REASON_USER
    with run_site(snapshot) as site:
        assert "held" in site.row("workloads", "nightly-eval")


def test_expected_end_says_how_certain_it_is() -> None:
    with run_site(with_runtimes()) as site:
        assert "by its expected runtime (its own expected runtime)" in site.text("workload?uid=sweep")
    snapshot = sample()
    (group,) = (each for each in snapshot.pod_groups if each.uid == "sweep")
    group.time_limit.seconds = snapshot.now.seconds - group.last_start_time.seconds + 600
    with run_site(snapshot) as site:
        assert "in 10m" in site.row("workloads", "sweep")
        assert "by its time limit (time limit)" in site.text("workload?uid=sweep")


def test_what_leaves_has_no_expected_end() -> None:
    with run_site(with_runtimes()) as site:
        running, leaving = (site.row("workloads", name) for name in ("backfill-eu", "backfill-us"))
        assert "own expected runtime" in running
        assert "leaving" in leaving
        assert "own expected runtime" not in leaving


def test_disruption_budgets_show_what_is_left() -> None:
    snapshot = sample()
    snapshot.disruption_budgets.add(name="vision/sweep", allowed=3)
    for pod in snapshot.pods:
        if pod.pod_group == "sweep":
            pod.disruption_budgets.append("vision/sweep")
    with run_site(snapshot) as site:
        assert "vision/sweep 3 0 2 1" in site.text("health")


def test_what_evictions_cost_is_shown_with_their_causes() -> None:
    snapshot = sample()
    (group,) = (each for each in snapshot.pod_groups if each.uid == "sweep")
    group.evictions.by_cause["reclaim"] = 2
    profile = default_profile()
    costs = (*profile.plugins, PluginConfig("evictioncost"))
    with run_site(snapshot, engine=Engine(replace(profile, plugins=costs))) as site:
        assert "2 by reclaim" in site.text("workload?uid=sweep")
        assert "evicts 2 pods of sweep ; it costs" in site.text("decisions")


def test_notice_is_told_with_its_time() -> None:
    snapshot = sample()
    (group,) = (each for each in snapshot.pod_groups if each.uid == "sweep")
    group.notice.FromTimedelta(timedelta(minutes=2))
    profile = default_profile()
    profile = replace(profile, options=replace(profile.options, max_notice=600 * SECOND))
    with run_site(snapshot, engine=Engine(profile)) as site:
        assert "notice of eviction at 10:37:00 UTC for distill" in site.text("workload?uid=sweep")
        assert "gives notice to 2 pods of sweep , to be evicted at 10:37:00 UTC" in site.text("decisions")


def test_planned_starts_are_on_the_pages_of_workload_and_queues() -> None:
    """R17.7: when the owner starts, how sure that is, and for operators on which nodes."""
    plugin = PluginConfig("reservation", {"minWait": "0s"})
    default = default_profile()
    profile = replace(default, actions=("allocate", "reservation"), plugins=(*default.plugins, plugin))
    snapshot = (
        ClusterText().node(gpus=4).queue("q").runs("old", "q", gpus=2).waits("big", "q", gpus=4).snapshot
    )
    old = next(group for group in snapshot.pod_groups if group.uid == "old")
    old.time_limit.seconds = 7_200
    with run_site(snapshot, engine=Engine(profile)) as site:
        for path in ("workload?uid=big", "queues"):
            text = site.text(path)
            assert "Planned start" in text
            assert "(in 1h), by time limits, on n " in text
        assert "Planned start" not in site.text("workload?uid=old")
    with run_site(sample()) as site:
        assert "Planned starts" not in site.text("queues")
