"""Who sees what: readers have the verbs of their tokens, and tenants see their queues alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tenure.client import Client, StateSession
from tenure.console.access import Access, Audience
from tenure.console.process import ConsoleError, ConsoleOptions, check
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions
from tenure.server.security.access_control import AccessControl

from tests.attacks.callers.two_clusters import TOKENS, rule, security
from tests.console.console_site import run_site, sample, text_of, with_runtimes
from tests.server.servers import run_server

RULES = [
    rule("token:b", clusters=["*"], verbs=["push", "decide", "read"]),
    rule("token:a", clusters=["two-departments"], verbs=["read"]),
]


@contextmanager
def forwarding(folder: Path, guard: AccessControl) -> Iterator[TestClient]:
    with run_server(guard=guard) as (_, address), Client(address, token=TOKENS["b"]) as own:
        for cluster in ("other", "two-departments"):
            snapshot = sample()
            snapshot.cluster_id = cluster
            with StateSession(own) as session:
                session.push(snapshot)
                session.decide()
        access = Access(own, lambda token: Client(address, token=token))
        with Watch(own, share=1.0, poll_seconds=0.05) as watch:
            yield TestClient(Site(watch, access, SiteOptions()).application(), base_url="http://localhost")
        access.close()


@pytest.fixture
def http(tmp_path: Path) -> Iterator[TestClient]:
    with forwarding(tmp_path, security(tmp_path, RULES)) as http:
        yield http


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[name]}"}


def test_reader_sees_the_clusters_that_the_policy_permits(http: TestClient) -> None:
    own = text_of(http.get("queues", headers=bearer("a")).text)
    assert "Cluster two-departments" in own
    assert "other" not in own.replace("other queues", "")
    both = text_of(http.get("queues", headers=bearer("b")).text)
    assert "other two-departments" in both


def test_cluster_of_others_does_not_exist_for_a_reader(http: TestClient) -> None:
    assert http.get("queues?cluster=other", headers=bearer("b")).status_code == 200
    denied = http.get("queues?cluster=other", headers=bearer("a"))
    unknown = http.get("queues?cluster=nowhere", headers=bearer("a"))
    assert (denied.status_code, unknown.status_code) == (404, 404)
    assert text_of(denied.text) == text_of(unknown.text)
    assert http.get("events?cluster=other", headers=bearer("a")).status_code == 404


@pytest.mark.parametrize(
    "header", [{}, {"Authorization": "Bearer wrong-token-0123456789"}, {"Authorization": "Basic x"}]
)
def test_without_a_valid_token_nothing_is_shown(http: TestClient, header: dict[str, str]) -> None:
    for path in ("queues", "workloads", "events", "workloads.csv", "what-if?run=1"):
        response = http.get(path, headers=header)
        assert response.status_code == 401
        assert "two-departments" not in response.text


def test_simulation_and_explanation_need_the_verb_of_the_reader(http: TestClient) -> None:
    where = "cluster=two-departments"
    simulated = http.get(f"what-if?{where}&run=1&queue=vision", headers=bearer("a")).text
    explained = http.get(f"explain?{where}&uid=finetune&question=protected_until", headers=bearer("a")).text
    assert "may not simulate" in text_of(simulated)
    assert "may not explain" in text_of(explained)


TENANT = SiteOptions(audience=Audience.TENANT, queues=("vision",))
OTHERS = (
    "language",
    "captioner",
    "analytics",
    "product",
    "distill",
    "notebook",
    "month-end",
    "backfill",
    "gpu-1",
    "gpu-2",
)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "queues",
            "workloads",
            "what-if",
            "health",
            "workloads.csv",
            "workload?uid=sweep",
            "workload?uid=finetune",
        ),
        *("workload?uid=nightly-eval", "explain?uid=nightly-eval&question=why_pending"),
        *("explain?uid=sweep&question=why_victim", "explain?uid=finetune&question=protected_until"),
        "explain?uid=nightly-eval&question=when_starts",
        "what-if?run=1&queue=vision&pods=2&gpus=1&priority=90",
    ],
)
def test_tenant_sees_own_queues_and_names_no_others(path: str) -> None:
    with run_site(sample(), options=TENANT) as site:
        response = site.http.get(path)
        assert response.status_code == 200
        text = text_of(response.text)
    for name in OTHERS:
        assert name not in text
    assert "sweep" in text or not path.startswith("workloads")


def test_tenant_reads_when_a_workload_starts_but_not_what_it_waits_for() -> None:
    with run_site(with_runtimes(), options=TENANT) as site:
        text = site.text("explain?uid=nightly-eval&question=when_starts")
    assert "Likely start in 10m" in text
    assert "Waits for the end of" not in text


@pytest.mark.parametrize("path", ["decisions", "nodes", "replay?cycle=1", "workload?uid=distill"])
def test_tenant_has_no_pages_about_others(path: str) -> None:
    with run_site(sample(), options=TENANT) as site:
        assert site.http.get(path).status_code == 404


def test_tenant_cannot_simulate_in_a_queue_of_others() -> None:
    with run_site(sample(), options=TENANT) as site:
        assert "Choose a queue" in site.text("what-if?run=1&queue=analytics")


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        (ConsoleOptions(listen="0.0.0.0:80"), "--forward-authorization"),
        (ConsoleOptions(listen="nothing"), "HOST:PORT"),
        (ConsoleOptions(audience=Audience.TENANT), "--queue NAME"),
        (ConsoleOptions(queues=("vision",)), "--audience tenant"),
        (ConsoleOptions(listen="0.0.0.0:80", forward_authorization=True), "--allowed-host NAME"),
        (ConsoleOptions(listen="0.0.0.0:80", allow_anonymous=True), "--allowed-host NAME"),
        *(
            (ConsoleOptions(hosts=(host,)), "host name")
            for host in ("", "*", "a*", "http://a", "a:80", "*.*.a")
        ),
    ],
)
def test_options_that_would_show_too_much_are_refused(options: ConsoleOptions, fix: str) -> None:
    with pytest.raises(ConsoleError, match=fix):
        check(options)


@pytest.mark.parametrize(
    "options",
    [
        ConsoleOptions(),
        ConsoleOptions(listen="0.0.0.0:80", forward_authorization=True, hosts=("console.example.com",)),
        ConsoleOptions(listen="[::1]:80"),
        ConsoleOptions(listen="0.0.0.0:80", allow_anonymous=True, hosts=("*.example.com", "10.1.2.3")),
    ],
)
def test_safe_options_are_accepted(options: ConsoleOptions) -> None:
    check(options)
