"""Kinds that are defined while an adapter runs are watched without a restart."""

import threading
from contextlib import closing
from pathlib import Path

import pytest
from tenure.client import Client
from tenure.kubernetes.adapter import Adapter
from tenure.kubernetes.api import object_caches
from tenure.kubernetes.api.object_caches import OPTIONAL, ApiDiscovery, ObjectCaches
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.settings import AdapterSettings

from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.resource_definitions import CustomKind, define_kinds
from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server
from tests.server.servers import run_server

PATHS = {one.name: one.path for one in reversed(object_caches.COLLECTIONS)}
CORE = {name: PATHS[name] for name in ("nodes", "pods", "priority_classes", "disruption_budgets")}


def test_kind_is_discovered_once_served_unless_excluded(tmp_path: Path) -> None:
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        found: list[str] = []
        looking = ApiDiscovery(transport, OPTIONAL, CORE, lambda: found.append("something"))
        assert not looking.poll_once()
        define_kinds(transport)
        assert looking.poll_once()
        assert found == ["something"]
        every = frozenset(one.name for one in object_caches.list_served(transport, frozenset()))
        assert not ApiDiscovery(transport, every - CORE.keys(), CORE, found.clear).poll_once()


def test_failing_api_server_reports_no_new_kinds(tmp_path: Path) -> None:
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        define_kinds(transport)
        api.faults.refuse("GET", "/apis/scheduling.run.ai/*", 503, times=4)
        assert not ApiDiscovery(transport, OPTIONAL, CORE, lambda: None).poll_once()


def test_running_adapter_watches_kinds_defined_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_caches, "POLL_SECONDS", 0.2)
    with (
        run_fake_api_server(tmp_path) as api,
        closing(Transport(api.kubeconfig())) as transport,
        run_server() as (_, server),
        Client(server) as client,
    ):
        cluster = UserCluster(transport, "late")
        settings = AdapterSettings(cluster_id="late", namespace="late", lease_duration="3s")
        adapter = Adapter(settings, transport, transport, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            wait_until(lambda: _lists_pods(api))
            define_kinds(transport)
            cluster.node("n1")
            cluster.queue("q")
            cluster.workload("gang", 2, 4)
            wait_until(lambda: cluster.bound("gang") == 2)
        finally:
            adapter.stop()
            thread.join()


def _lists_pods(api: FakeApiServer) -> bool:
    return any(call.path == "/api/v1/pods" for call in api.calls)


def test_unreadable_journal_is_reported_before_the_cluster_is_listed(tmp_path: Path) -> None:
    with (
        run_fake_api_server(tmp_path) as api,
        closing(Transport(api.kubeconfig())) as transport,
        Client("127.0.0.1:1") as client,
    ):
        UserCluster(transport, "late")
        api.faults.refuse("GET", "*/configmaps/*", 403, times=1000)
        settings = AdapterSettings(cluster_id="late", namespace="late", lease_duration="3s")
        adapter = Adapter(settings, transport, transport, client)
        thread = threading.Thread(target=adapter.run)
        thread.start()
        try:
            wait_until(lambda: "403" in adapter.health().waiting_for)
            assert not _lists_pods(api)
        finally:
            adapter.stop()
            thread.join()


def test_kind_no_longer_served_is_dropped_at_the_third_check(tmp_path: Path) -> None:
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        found: list[str] = []
        followed = {**CORE, "volcano_queues": PATHS["volcano_queues"]}
        looking = ApiDiscovery(transport, OPTIONAL, followed, lambda: found.append("something"))
        assert [looking.poll_once() for _ in range(3)] == [False, False, True]
        assert found == ["something"]


def test_another_version_is_followed_once_the_first_one_is_gone(tmp_path: Path) -> None:
    """Kubernetes 1.36 serves other versions of its pod groups than 1.37."""
    before, after = (
        CustomKind("scheduling.k8s.io", version, "PodGroup", "podgroups", True, True)
        for version in ("v1alpha2", "v1beta1")
    )
    with run_fake_api_server(tmp_path) as api, closing(Transport(api.kubeconfig())) as transport:
        define_kinds(transport, [after])
        followed = {**CORE, "native_pod_groups": f"/apis/{before.api_version}/podgroups"}
        looking = ApiDiscovery(transport, OPTIONAL, followed, lambda: None)
        assert [looking.poll_once() for _ in range(3)] == [False, False, True]
        caches = ObjectCaches.create(lambda: None)
        caches.follow(transport, OPTIONAL)
        assert caches.native_version == after.api_version
        looking = ApiDiscovery(transport, OPTIONAL, caches.followed_collections, lambda: None)
        assert not looking.poll_once()
