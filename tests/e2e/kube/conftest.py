"""One control plane and one server for all stories of a worker; each story has a namespace of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tenure.client.kubernetes.transport import Transport

from tests.e2e.kube.installed import Installed, may
from tests.kube import binaries
from tests.kube.adapting import adapting, arguments
from tests.kube.audit import Audit
from tests.kube.cluster import Cluster, eventually
from tests.kube.controlplane import ControlPlane, control_plane
from tests.kube.definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP, define_kinds
from tests.kube.kubelet import Kubelet
from tests.kube.processes import Program
from tests.server.running import serving_process

GRACE_SECONDS = 1.0
Adapter = Callable[..., AbstractContextManager[Program]]
"""Starts an adapter with further arguments, and kills it in the end."""
_numbers = count(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plane")


@pytest.fixture(scope="session")
def audit(folder: Path) -> Audit:
    return Audit(folder)


@pytest.fixture(scope="session")
def plane(folder: Path, audit: Audit) -> Iterator[ControlPlane]:
    with control_plane(binaries.required(), folder, *audit.flags) as running:
        yield running


@pytest.fixture(scope="session")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    """To an API server that knows all kinds, with kubelets that end pods after a second."""
    with closing(Transport(plane.kubeconfig())) as opened:
        define_kinds(opened)
        kubelet = Kubelet(opened, GRACE_SECONDS, time.monotonic)
        thread = threading.Thread(target=kubelet.run)
        thread.start()
        yield opened
        kubelet.stop()
        thread.join()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serving_process() as (_, address):
        yield address


@pytest.fixture
def bare(transport: Transport) -> Iterator[Cluster]:
    """A namespace, and nothing else."""
    made = Cluster(transport, f"story-{next(_numbers)}")
    yield made
    made.clear(KAI_POD_GROUP, VOLCANO_POD_GROUP)


@pytest.fixture
def cluster(bare: Cluster) -> Cluster:
    """A node of 8 GPUs, queue q, and three priorities."""
    bare.node("n1", gpus=8)
    bare.queue("q")
    bare.priorities(low=10, high=90, highest=99)
    return bare


@pytest.fixture
def told(plane: ControlPlane, server: str, bare: Cluster) -> tuple[str, ...]:
    """Arguments of adapters of the story."""
    return arguments(plane, server, bare.namespace)


@pytest.fixture
def adapter(told: tuple[str, ...], tmp_path: Path) -> Adapter:
    return partial(adapting, tmp_path / "adapter.log", *told)


@pytest.fixture
def installed(request: pytest.FixtureRequest, plane: ControlPlane, bare: Cluster) -> Iterator[Installed]:
    """What the chart gives the adapter with the values of the parameter, or its defaults."""
    made = Installed(plane, bare, getattr(request, "param", ()))
    yield made
    made.remove()


@pytest.fixture
def as_adapter(installed: Installed) -> Iterator[Transport]:
    """The API server as that adapter sees it, once its rights are known there."""
    with closing(Transport(installed.kubeconfig)) as opened:
        for right in installed.first_rights:
            eventually(lambda right=right: may(opened, right))  # type: ignore[misc]
        yield opened
