"""A real API server and a real service, for consecutive runs."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program, free_port
from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment.binaries import Binaries
from tests.kubernetes.environment.control_plane import ControlPlane, run_control_plane
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fault_injection.story import GPUS, LIMITS, MINIMUM_SECONDS, NODES, PRIORITIES, QUEUES
from tests.small_snapshot import child_environment


class Service:
    """`tenure serve` at a fixed address."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "service.log"
        self.address = f"127.0.0.1:{free_port()}"
        self._program = self._started()

    def kill(self) -> None:
        """Kill it."""
        self._program.kill()

    def start(self) -> None:
        """Restart it."""
        self._program = self._started()

    def _started(self) -> Program:
        serve = ("-m", "tenure.cli", "serve", "--no-records", "--listen", self.address)
        return Program(self._log, sys.executable, *serve, env=child_environment())


class Site:
    """Resources shared by runs: control plane, service, nodes, queues and priority classes."""

    def __init__(self, plane: ControlPlane, transport: Transport, service: Service, folder: Path) -> None:
        self.plane, self.transport, self.service, self.folder = plane, transport, service, folder
        self.runs = 0
        """Number of runs so far."""


@contextmanager
def open_site(binaries: Binaries, folder: Path) -> Iterator[Site]:
    """Open a site and remove it at the end."""
    with (
        run_control_plane(binaries, folder) as plane,
        closing(Transport(plane.kubeconfig())) as transport,
    ):
        define_kinds(transport)
        _create_objects(UserCluster(transport, "furniture"))
        service = Service(folder)
        try:
            yield Site(plane, transport, service, folder)
        finally:
            service.kill()


def _create_objects(cluster: UserCluster) -> None:
    for name in NODES:
        cluster.node(name, GPUS)
    cluster.priorities(**PRIORITIES)
    unlimited, minimum = {"quota": -1, "limit": -1}, f"{MINIMUM_SECONDS:g}s"
    for name, priority in QUEUES.items():
        gpus = {"quota": GPUS, "limit": LIMITS.get(name, GPUS), "overQuotaWeight": 1}
        resources = {"cpu": unlimited, "memory": unlimited, "gpu": gpus}
        cluster.queue(name, resources=resources, priority=priority, reclaimMinRuntime=minimum)
