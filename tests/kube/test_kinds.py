"""Kinds that are defined while an adapter runs are followed without a restart."""

import threading
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.client.kubernetes import kinds
from tenure.client.kubernetes.adapter import Adapter
from tenure.client.kubernetes.kinds import NewKinds
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.client.kubernetes.transport import Transport

from tests.kube.cluster import Cluster, eventually
from tests.kube.definitions import define_kinds
from tests.kube.fake.server import FakeApiServer, serving
from tests.server.running import server_here

CORE = frozenset(("nodes", "pods", "priority_classes"))


def test_a_kind_is_found_once_it_is_served_and_not_if_it_is_left_out(tmp_path: Path) -> None:
    with serving(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        found: list[str] = []
        looking = NewKinds(transport, frozenset(), CORE, lambda: found.append("something"))
        assert not looking.look_once()
        define_kinds(transport)
        assert looking.look_once()
        assert found == ["something"]
        every = frozenset(one.name for one in kinds.served(transport, frozenset()))
        assert not NewKinds(transport, every - CORE, CORE, found.clear).look_once()


def test_an_api_server_that_is_out_of_order_has_nothing_new(tmp_path: Path) -> None:
    with serving(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        define_kinds(transport)
        api.faults.refuse("GET", "/apis/scheduling.run.ai/*", 503)
        assert not NewKinds(transport, frozenset(), CORE, lambda: None).look_once()


def test_an_adapter_that_runs_follows_what_is_defined_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "LOOK_SECONDS", 0.2)
    with (
        serving(tmp_path) as api,
        closing(Transport(api.kubeconfig())) as transport,
        server_here() as (_, server),
        Client(server) as client,
    ):
        cluster = Cluster(transport, "late")
        settings = AdapterSettings(cluster_id="late", namespace="late", lease_duration="3s")
        adapter = Adapter(settings, transport, transport, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            eventually(lambda: _lists_pods(api))
            define_kinds(transport)
            cluster.node("n1")
            cluster.queue("q")
            cluster.workload("gang", 2, 4)
            eventually(lambda: cluster.bound("gang") == 2)
        finally:
            adapter.stop()
            thread.join()


def _lists_pods(api: FakeApiServer) -> bool:
    return any(call.path == "/api/v1/pods" for call in api.calls)


def test_a_ledger_that_cannot_be_read_is_asked_for_before_the_cluster_is_listed(tmp_path: Path) -> None:
    with (
        serving(tmp_path) as api,
        closing(Transport(api.kubeconfig())) as transport,
        Client("127.0.0.1:1") as client,
    ):
        Cluster(transport, "late")
        api.faults.refuse("GET", "*/configmaps/*", 403, times=1000)
        settings = AdapterSettings(cluster_id="late", namespace="late", lease_duration="3s")
        adapter = Adapter(settings, transport, transport, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            eventually(lambda: "403" in adapter.health().waiting_for)
            assert not _lists_pods(api)
        finally:
            adapter.stop()
            thread.join(10)


def test_a_kind_that_is_not_served_any_more_is_gone_at_the_third_look(tmp_path: Path) -> None:
    with serving(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        found: list[str] = []
        followed = CORE | {"volcano_queues"}
        looking = NewKinds(transport, frozenset(), followed, lambda: found.append("something"))
        assert [looking.look_once() for _ in range(3)] == [False, False, True]
        assert found == ["something"]
