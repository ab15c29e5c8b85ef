"""A complete adapter in this process, on a fake or real API server and a real Tenure server."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from math import log2
from pathlib import Path
from typing import Any, Final

from tenure.client import Client
from tenure.kubernetes.adapter import Adapter, write_seconds
from tenure.kubernetes.api.transport import Transport
from tenure.kubernetes.dry_run import decision_rows, dry_run
from tenure.kubernetes.settings import AdapterSettings

from tests.kubernetes.adapter_process import ApiServerAccess
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ADAPTER_TOKEN
from tests.kubernetes.environment.kubelet import Kubelet
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fake_api_server.server import FakeApiServer, run_fake_api_server

NAMESPACE: Final = "team"
_GRACE_SECONDS: Final = 0.1
_CLOCK_STEP_SECONDS: Final = 1.0
"""Responses tell the time in whole seconds."""
_END_SECONDS: Final = 60.0


def most_attempts(seconds: float) -> int:
    """The most attempts to bind a pod within a time: after 0, 2, 6, 14, ... seconds."""
    return 1 + int(log2((seconds + _CLOCK_STEP_SECONDS) / 2 + 1))


class Stage:
    """A cluster whose kubelets start bound pods, and adapters on it as tests need them."""

    def __init__(
        self, plane: ApiServerAccess, cluster: UserCluster, server: str, settings: Mapping[str, Any]
    ) -> None:
        """`settings` are those of the adapter, by their keys."""
        self.cluster = cluster
        self._plane, self._server = plane, server
        self._settings = AdapterSettings.model_validate({"leaseDuration": "9s", **settings})

    @contextmanager
    def adapter(self) -> Iterator[Adapter]:
        """Run an adapter until the end of the context; it then releases its lease."""
        config = self._plane.kubeconfig(ADAPTER_TOKEN)
        with (
            closing(Transport(config)) as reading,
            closing(Transport(config, timeout=write_seconds(self._settings.lease_duration))) as writing,
            Client(self._server) as client,
        ):
            adapter = Adapter(self._settings, reading, writing, client)
            thread = threading.Thread(target=adapter.run)
            thread.start()
            try:
                yield adapter
            finally:
                adapter.stop()
                thread.join(_END_SECONDS)
            assert not thread.is_alive(), "the adapter does not stop"

    def start(self, *pods: str) -> None:
        """Run pods on the node, as if an adapter had bound them long ago."""
        for name in pods:
            target = {"target": {"kind": "Node", "name": "n1"}}
            path = f"{self.cluster.pods_path}/{name}"
            self.cluster.transport.post(f"{path}/binding", {"metadata": {"name": name}, **target})
        wait_until(lambda: all(self.cluster.running(name.rpartition("-")[0]) for name in pods))

    def dry_run_output(self) -> list[dict[str, str]]:
        """Return the bindings and evictions of a dry run."""
        config = self._plane.kubeconfig(ADAPTER_TOKEN)
        with closing(Transport(config)) as transport, Client(self._server) as client:
            run = dry_run(self._settings, transport, client)
        return [step for step in decision_rows(run) if step["kind"] in ("bind", "evict")]


class AdapterStage(Stage):
    """A stage on a fake API server, which lists the calls of adapters and injects faults."""

    def __init__(
        self, api: FakeApiServer, cluster: UserCluster, server: str, name: str, more: Mapping[str, Any]
    ) -> None:
        super().__init__(api, cluster, server, {"clusterId": name, "namespace": NAMESPACE, **more})
        self.api = api

    def writes(self) -> list[str]:
        """Return the writes of adapters in order, as "POST /path"."""
        mine = (call for call in list(self.api.calls) if call.token == ADAPTER_TOKEN)
        return [f"{call.method} {call.path}" for call in mine if call.method != "GET"]

    def sent(self, subresource: str) -> list[str]:
        """Return the pods for which the adapter sent such a request, each once."""
        posted = (write for write in self.writes() if write.startswith("POST "))
        return sorted(path.split("/")[-2] for path in posted if path.endswith(f"/{subresource}"))


@contextmanager
def open_stage(folder: Path, server: str, name: str, **more: Any) -> Iterator[AdapterStage]:
    """Start an API server with all kinds, one node of 8 GPUs, two queues and two priority classes.

    `more` adds settings of the adapter, by their keys.
    """
    with ExitStack() as ends:
        api = ends.enter_context(run_fake_api_server(folder))
        transport = ends.enter_context(closing(Transport(api.kubeconfig())))
        define_kinds(transport)
        kubelet = Kubelet(transport, _GRACE_SECONDS, time.monotonic)
        thread = threading.Thread(target=kubelet.run)
        thread.start()
        ends.callback(thread.join)
        ends.callback(kubelet.stop)
        cluster = UserCluster(transport, NAMESPACE)
        cluster.node("n1", gpus=8)
        cluster.priorities(low=10, high=90)
        for queue in ("q", "other"):
            cluster.queue(queue, gpus=8)
        yield AdapterStage(api, cluster, server, name, more)
