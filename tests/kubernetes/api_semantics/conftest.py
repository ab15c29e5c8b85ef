"""Every test of this folder runs twice: on the fake API server, and on a real one (marker `kube`)."""

from collections.abc import Iterator

import pytest

from tests.kubernetes.api_semantics.raw_client import ApiServer, ClientNamespace, RawClient
from tests.kubernetes.environment import binaries
from tests.kubernetes.environment.control_plane import run_control_plane
from tests.kubernetes.fake_api_server.server import run_fake_api_server


@pytest.fixture(scope="session", params=["fake", pytest.param("real", marks=pytest.mark.kube)])
def api_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "fake":
        with run_fake_api_server(folder) as fake:
            yield fake
    else:
        with run_control_plane(binaries.required(), folder) as plane:
            yield plane


@pytest.fixture(scope="session")
def raw_client(api_server: ApiServer) -> Iterator[RawClient]:
    made = RawClient(api_server.url)
    yield made
    made.close()


@pytest.fixture
def namespace(raw_client: RawClient) -> ClientNamespace:
    return ClientNamespace(raw_client)
