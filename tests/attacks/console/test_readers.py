"""A reader of the console learns nothing from answers and texts of others, and takes none of their turns."""

import gc
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest
from starlette.testclient import TestClient
from tenure.client import Client, StateSession
from tenure.console import access as access_module
from tenure.console.access import MAX_QUERIES_AT_ONCE, MAX_WAITING_QUERIES, Access, Audience, TooManyQueries
from tenure.console.event_streams import STREAMS
from tenure.console.pages import OTHERS, PAGES
from tenure.console.watch import Watch
from tenure.console.web import Site, SiteOptions
from tenure.v1.snapshot_pb2 import PREEMPTIBILITY_NON_PREEMPTIBLE, ClusterSnapshot

from tests.attacks.callers.two_clusters import TOKENS, rule, security
from tests.console.console_process import process
from tests.console.console_site import run_site, sample, text_of
from tests.server.servers import run_server, run_server_process

_PATIENCE: Final = 10.0
EXPLAINED: Final = "explain?uid=finetune&question=protected_until"
RULES: Final = [
    rule("token:a", clusters=["*"], verbs=["push", "decide", "read", "explain"]),
    rule("token:b", clusters=["*"], verbs=["read"]),
]


class ReusedClient:
    """One object that is the client of one reader after the other, as an `id` of Python can be."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._clients: list[Client] = []

    def connect(self, token: str) -> Any:
        self._clients.append(Client(self._address, token=token))
        return self

    def close(self) -> None:
        """The next reader uses it."""

    def end(self) -> None:
        for client in self._clients:
            client.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._clients[-1], name)


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[name]}"}


def test_an_answer_is_kept_for_the_token_that_may_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_module, "MAX_READERS", 1)
    with (
        run_server(guard=security(tmp_path, RULES)) as (_, address),
        Client(address, token=TOKENS["a"]) as own,
    ):
        with StateSession(own) as session:
            session.push(sample())
            session.decide()
        reused = ReusedClient(address)
        with Watch(own, share=1.0, poll_seconds=0.05) as watch:
            site = Site(watch, Access(own, reused.connect), SiteOptions())
            http = TestClient(site.application(), base_url="http://localhost")
            answer = text_of(http.get(EXPLAINED, headers=bearer("a")).text)
            denied = text_of(http.get(EXPLAINED, headers=bearer("b")).text)
        reused.end()
    assert "2025-03-03 10:42:00 UTC" in answer
    assert "may not explain" in denied
    assert "10:42" not in denied


def test_a_token_that_the_service_rejects_leaves_no_connection(tmp_path: Path) -> None:
    closed: list[str] = []

    class Counted(Client):
        def close(self) -> None:
            closed.append("closed")
            super().close()

    with (
        run_server(guard=security(tmp_path, RULES)) as (_, address),
        Client(address, token=TOKENS["a"]) as own,
    ):
        access = Access(own, lambda token: Counted(address, token=token))
        with Watch(own) as watch:
            site = Site(watch, access, SiteOptions()).application()
            http = TestClient(site, base_url="http://localhost")
            for number in range(3):
                wrong = {"Authorization": f"Bearer wrong-token-{number}-0123456789"}
                assert http.get("queues", headers=wrong).status_code == 401
        gc.collect()
    assert closed == ["closed"] * 3


CANARY: Final = "canary"
VISIBLE: Final = "vision"
TENANT: Final = SiteOptions(audience=Audience.TENANT, queues=(VISIBLE,))


def with_canaries() -> ClusterSnapshot:
    """The sample, in which all texts of other tenants contain a word, and cause warnings that repeat it."""
    snapshot = sample()
    foreign = set()
    for group in snapshot.pod_groups:
        problem = "soon" if group.queue == VISIBLE else f"{CANARY}-{group.uid}"
        group.annotations["kai.scheduler/expected-runtime"] = problem
        group.annotations["kai.scheduler/requeue-delay"] = problem
        if group.queue != VISIBLE:
            group.name = group.namespace = f"{CANARY}-{group.uid}"
            foreign.add(group.uid)
    for pod in snapshot.pods:
        if pod.pod_group in foreign:
            pod.name, pod.sub_group = f"{CANARY}-{pod.uid}", f"{CANARY}-sub"
    for queue in snapshot.queues:
        queue.notice.seconds = 7_200
    for node in snapshot.nodes:
        node.labels[f"{CANARY}-label"] = CANARY
    return snapshot


PATHS: Final = (
    *("queues", "workloads", "workloads?sort=reason", "workloads.csv", "health", "what-if"),
    *("workload?uid=sweep", "workload?uid=finetune", "workload?uid=nightly-eval"),
    *(f"explain?uid=nightly-eval&question={question}" for question in ("why_pending", "when_starts")),
    *(
        "explain?uid=sweep&question=why_victim",
        EXPLAINED,
        "what-if?run=1&queue=vision&pods=2&gpus=1&priority=90",
    ),
)


@pytest.fixture(scope="module")
def tenant() -> Iterator[Any]:
    with run_site(with_canaries(), options=TENANT) as site:
        yield site


@pytest.mark.parametrize("path", PATHS)
def test_no_page_shows_a_tenant_what_others_wrote(path: str, tenant: Any) -> None:
    response = tenant.http.get(path)
    assert response.status_code == 200
    assert CANARY not in response.text.lower()
    for name in ("language", "captioner", "analytics", "distill", "month-end"):
        assert name not in response.text


def test_every_page_for_tenants_is_walked() -> None:
    walked = {path.partition("?")[0] for path in PATHS}
    assert {page.path for page in (*PAGES, *OTHERS) if page.for_tenants} <= walked


def test_a_tenant_reads_the_warnings_about_own_workloads(tenant: Any) -> None:
    text = tenant.text("health")
    assert "Invalid expected runtime: sweep" in text or "Invalid expected runtime: finetune" in text


def test_an_operator_reads_all_warnings() -> None:
    with run_site(with_canaries()) as site:
        assert CANARY in site.text("health")


def with_wishes() -> ClusterSnapshot:
    """The sample, in which all owners want more protection than they were given, and no queue has a quota."""
    snapshot = sample()
    for group in snapshot.pod_groups:
        group.grant.SetInParent()
        group.preemptibility = PREEMPTIBILITY_NON_PREEMPTIBLE
    for queue in snapshot.queues:
        queue.gpu_milli.quota = 0
    return snapshot


@pytest.mark.parametrize(
    ("options", "sees"), [(SiteOptions(), True), (TENANT, False)], ids=["operator", "tenant"]
)
def test_only_an_operator_reads_which_quota_is_in_the_way(options: SiteOptions, sees: bool) -> None:
    with run_site(with_wishes(), options=options) as site:
        pages = site.http.get("workloads").text + site.http.get("workload?uid=sweep").text
    assert "not in force" in pages
    assert ("of quota left" in pages) == sees


@contextmanager
def readers(*names: str) -> Iterator[tuple[Access, list[Any]]]:
    with run_server() as (_, address), Client(address) as own:
        access = Access(own, lambda token: Client(address, token=token, allow_plaintext=True))
        yield access, [access.reader(f"Bearer {name}") for name in names]
        access.close()


def test_queries_of_one_reader_take_no_turn_of_another() -> None:
    with readers("noisy-0123456789", "quiet-0123456789") as (access, (noisy, quiet)), ExitStack() as stack:
        halt, begun = Event(), Event()

        def ask() -> bool:
            try:
                with access.query(noisy):
                    begun.set()
                    return halt.wait(20)
            except TooManyQueries:
                return False

        pool = stack.enter_context(ThreadPoolExecutor(MAX_WAITING_QUERIES + 4))
        stack.callback(halt.set)
        asked = [pool.submit(ask) for _ in range(MAX_WAITING_QUERIES + 4)]
        assert begun.wait(10)
        wait = time.monotonic() + 10
        while sum(each.done() for each in asked) < 4:
            assert time.monotonic() < wait
            time.sleep(0.01)
        assert [each.result() for each in asked if each.done()] == [False] * 4
        assert MAX_QUERIES_AT_ONCE > 1
        with access.query(quiet):
            assert not halt.is_set()


def test_without_tokens_queries_are_counted_by_host() -> None:
    with run_server() as (_, address), Client(address) as own:
        access = Access(own)
        noisy, quiet = (access.reader("", host) for host in ("10.0.0.1", "10.0.0.2"))
        for _ in range(access_module.MAX_QUERIES_PER_MINUTE):
            with access.query(noisy):
                pass
        with pytest.raises(TooManyQueries), access.query(access.reader("", "10.0.0.1")):
            pass
        with access.query(quiet):
            pass


def test_streams_of_one_reader_take_none_of_another() -> None:
    with run_server_process() as (_, service), Client(service) as client, StateSession(client) as session:
        session.push(sample())
        with (
            process("console", "--server", service, "--listen", "127.0.0.1:0") as (_, address),
            ExitStack() as stack,
        ):
            quiet = stack.enter_context(_stream(address, "127.0.0.2"))
            noisy = [
                stack.enter_context(_stream(address, "127.0.0.1")) for _ in range(STREAMS.most_of_a_host + 3)
            ]
            assert all(_ends(connection, _PATIENCE) for connection in noisy[:3])
            assert not any(_ends(connection, 0.05) for connection in (*noisy[3:], quiet))


def _stream(address: str, source: str) -> socket.socket:
    """A stream of events, with its first line."""
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=20, source_address=(source, 0))
    connection.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    found = b""
    while b"retry: 2000" not in found:
        found += connection.recv(4_096)
    return connection


def _ends(connection: socket.socket, seconds: float) -> bool:
    """Whether a stream ends by then, with a request to come again later. One event takes it a second."""
    connection.settimeout(seconds)
    found = b""
    try:
        while more := connection.recv(4_096):
            found += more
            if b"retry: 60000" in found:
                return True
    except TimeoutError:
        return False
    return False
