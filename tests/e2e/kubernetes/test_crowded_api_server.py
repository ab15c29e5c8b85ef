"""The lease survives a crowded API server: the calls of the adapter have priority levels of their own."""

import json
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.cluster.tenure_deployment import NAMESPACE, TenureDeployment, run_tenure
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.binaries import required
from tests.kubernetes.environment.control_plane import ControlPlane, account_token, run_control_plane
from tests.kubernetes.environment.resource_definitions import define_kinds

pytestmark = pytest.mark.kube

_FEW_SEATS: Final = ("--max-requests-inflight=16", "--max-mutating-requests-inflight=8")
_ACCOUNTS, _CALLERS_EACH = 8, 5
_OBJECTS, _BYTES = 80, 200_000
_HOLD_SECONDS, _LOOK_SECONDS = 45.0, 0.2
_OK, _REFUSED = b"HTTP/1.1 200", b"HTTP/1.1 429"
_LARGE: Final = "/api/v1/namespaces/crowd/configmaps"
_RENEWALS: Final = 8
"""Renewals of the lease within the crowd: more than its duration."""
_LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/tenure"
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_SAMPLE: Final = re.compile(r"^apiserver_flowcontrol_(\w+)\{(.*)\} (\S+)$", re.MULTILINE)


class Crowded(NamedTuple):
    """A cluster with few seats, and Tenure on it."""

    plane: ControlPlane
    admin: Transport
    users: UserCluster
    tenure: TenureDeployment

    def lease(self) -> dict[str, Any]:
        """The lease of the adapter."""
        spec: dict[str, Any] = json.loads(self.admin.get(_LEASE))["spec"]
        return spec

    def calls(self, metric: str, label: str) -> float:
        """Sum of a metric of flow control, over the samples with this label."""
        samples = _SAMPLE.findall(self.plane.metrics())
        return sum(float(value) for name, about, value in samples if name == metric and label in about)


class Crowd:
    """Service accounts that list large objects and do not read the response: each call keeps its seats."""

    def __init__(self, crowded: Crowded) -> None:
        self.held = self.refused = 0
        """Calls that have a seat, and calls that were refused because there was none for too long."""
        self._stopped, self._counting = threading.Event(), threading.Lock()
        self._port = crowded.plane.port
        tokens = list(_accounts(crowded.admin))
        for number in range(_OBJECTS):
            body = {"metadata": {"name": f"large-{number}"}, "data": {"text": "x" * _BYTES}}
            crowded.admin.post(_LARGE, body)
        callers = [token for token in tokens for _ in range(_CALLERS_EACH)]
        self._threads = [threading.Thread(target=self._call, args=(token,)) for token in callers]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _call(self, token: str) -> None:
        while not self._stopped.is_set():
            with self._connect() as connection:
                lines = (f"GET {_LARGE} HTTP/1.1", "Host: api", f"Authorization: Bearer {token}", "", "")
                connection.sendall("\r\n".join(lines).encode())
                self._count(self._status(connection))

    def _connect(self) -> ssl.SSLSocket:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(("127.0.0.1", self._port))
        return ssl._create_unverified_context().wrap_socket(plain)

    def _status(self, connection: ssl.SSLSocket) -> bytes:
        """The status of the response, once it begins; empty if the story ends before."""
        connection.settimeout(_LOOK_SECONDS)
        while not self._stopped.is_set():
            try:
                return connection.recv(len(_OK))
            except TimeoutError:
                continue
        return b""

    def _count(self, status: bytes) -> None:
        with self._counting:
            self.held += status == _OK
            self.refused += status == _REFUSED
        if status == _OK:
            self._stopped.wait(_HOLD_SECONDS)
            with self._counting:
                self.held -= 1


def _accounts(admin: Transport) -> Iterator[str]:
    """Create service accounts that may read ConfigMaps of a namespace; return their tokens."""
    admin.post("/api/v1/namespaces", {"metadata": {"name": "crowd"}})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    admin.post(f"{_RBAC}/namespaces/crowd/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    names = [f"caller-{number}" for number in range(_ACCOUNTS)]
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": "crowd"} for name in names]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    binding = {"metadata": {"name": "readers"}, "roleRef": role, "subjects": subjects}
    admin.post(f"{_RBAC}/namespaces/crowd/rolebindings", binding)
    for name in names:
        admin.post("/api/v1/namespaces/crowd/serviceaccounts", {"metadata": {"name": name}})
        yield account_token(admin, "crowd", name)


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[Crowded]:
    with run_crowded(tmp_path) as made:
        yield made


@contextmanager
def run_crowded(folder: Path) -> Iterator[Crowded]:
    with ExitStack() as stack:
        plane = stack.enter_context(run_control_plane(required(), folder, *_FEW_SEATS))
        admin = stack.enter_context(closing(Transport(plane.kubeconfig())))
        define_kinds(admin)
        users = UserCluster(admin, "team")
        users.node("n1")
        users.priorities(low=10)
        users.queue("q", gpus=8)
        tenure = stack.enter_context(run_tenure(plane, admin, folder))
        yield Crowded(plane, admin, users, tenure)


def test_lease_is_kept_and_pods_are_bound_while_others_crowd_the_api_server(crowded: Crowded) -> None:
    users = crowded.users
    users.workload("before", pods=1, gpus=1)
    wait_until(lambda: users.bound("before") == 1)
    first = crowded.lease()
    with Crowd(crowded) as crowd:
        wait_until(lambda: crowd.held)
        wait_until(lambda: crowded.calls("current_inqueue_requests", 'priority_level="workload-low"'))
        renewed = set()
        while len(renewed) < _RENEWALS or not crowd.refused:
            wait_until(lambda: crowded.lease()["renewTime"] not in renewed)
            renewed.add(crowded.lease()["renewTime"])
        users.workload("within", pods=1, gpus=1)
        wait_until(lambda: users.bound("within") == 1)
    last = crowded.lease()
    kept = ("holderIdentity", "acquireTime", "leaseTransitions")
    assert [last.get(key) for key in kept] == [first.get(key) for key in kept]
    assert "Lost lease" not in crowded.tenure.adapter.output
    dispatched = 'flow_schema="{}",priority_level="{}"'
    total = "dispatched_requests_total"
    assert crowded.calls(total, dispatched.format("tenure-leases", "leader-election")) >= _RENEWALS
    assert crowded.calls(total, dispatched.format("tenure-adapter", "workload-high")) > 0
    assert crowded.calls("rejected_requests_total", 'flow_schema="tenure-leases"') == 0
