"""One control plane and one server per test worker; each test has its own namespace."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.child_processes import Program
from tests.e2e.kubernetes.installation.installation import Installation, is_permitted
from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment import binaries
from tests.kubernetes.environment.audit_log import AuditLog
from tests.kubernetes.environment.components import run_owner_controllers
from tests.kubernetes.environment.control_plane import ControlPlane, run_control_plane
from tests.kubernetes.environment.kubelet import run_kubelet
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP, VOLCANO_POD_GROUP, define_kinds
from tests.kubernetes.owner_objects import OwnerCluster
from tests.server.servers import run_server_process

GRACE_SECONDS = 1.0
Adapter = Callable[..., AbstractContextManager[Program]]
"""Starts an adapter with further arguments and kills it at the end."""
_numbers = count(1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plane")


@pytest.fixture(scope="session")
def audit(folder: Path) -> AuditLog:
    return AuditLog(folder)


@pytest.fixture(scope="session")
def plane(folder: Path, audit: AuditLog) -> Iterator[ControlPlane]:
    with run_control_plane(binaries.required(), folder, *audit.flags) as running:
        yield running


@pytest.fixture(scope="session")
def transport(plane: ControlPlane) -> Iterator[Transport]:
    """Transport to an API server with all kinds, and kubelets that end deleted pods after a second."""
    with closing(Transport(plane.kubeconfig())) as opened:
        define_kinds(opened)
        with run_kubelet(opened, GRACE_SECONDS):
            yield opened


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with run_server_process() as (_, address):
        yield address


@pytest.fixture
def namespace_only(transport: Transport) -> Iterator[UserCluster]:
    """An empty namespace."""
    made = UserCluster(transport, f"story-{next(_numbers)}")
    yield made
    made.clear(KAI_POD_GROUP, VOLCANO_POD_GROUP)


@pytest.fixture
def cluster(namespace_only: UserCluster) -> UserCluster:
    """A node of 8 GPUs, queue q and three priority classes."""
    namespace_only.node("n1", gpus=8)
    namespace_only.queue("q")
    namespace_only.priorities(low=10, high=90, highest=99)
    return namespace_only


@pytest.fixture
def owners(plane: ControlPlane, cluster: UserCluster, tmp_path: Path) -> Iterator[OwnerCluster]:
    """The namespace of `cluster`, with the real controllers of Deployments, Jobs and other owners."""
    made = OwnerCluster(cluster)
    with run_owner_controllers(binaries.required_controller_manager(), plane, tmp_path):
        yield made
    made.clear()


@pytest.fixture
def adapter_flags(plane: ControlPlane, server: str, namespace_only: UserCluster) -> tuple[str, ...]:
    """Arguments of adapters in the namespace."""
    return adapter_arguments(plane, server, namespace_only.namespace)


@pytest.fixture
def adapter(adapter_flags: tuple[str, ...], tmp_path: Path) -> Adapter:
    return partial(run_adapter, tmp_path / "adapter.log", *adapter_flags)


@pytest.fixture
def installation(
    request: pytest.FixtureRequest, plane: ControlPlane, namespace_only: UserCluster
) -> Iterator[Installation]:
    """The chart's installation of an adapter, with the values of the parameter or its defaults."""
    made = Installation(plane, namespace_only, getattr(request, "param", ()))
    yield made
    made.remove()


@pytest.fixture
def as_adapter(installation: Installation) -> Iterator[Transport]:
    """Transport with the credentials of that adapter, after its permissions are in effect."""
    with closing(Transport(installation.kubeconfig)) as opened:
        for right in installation.first_rights:
            wait_until(lambda right=right: is_permitted(opened, right))  # type: ignore[misc]
        yield opened
