"""Every test here is run twice: on the fake API server, and on a real one (marker `kube`)."""

from collections.abc import Iterator

import pytest

from tests.kube import binaries
from tests.kube.contract.asking import ApiServer, Asker, Place
from tests.kube.controlplane import control_plane
from tests.kube.fake.server import serving


@pytest.fixture(scope="session", params=["fake", pytest.param("real", marks=pytest.mark.kube)])
def api_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiServer]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "fake":
        with serving(folder) as fake:
            yield fake
    else:
        with control_plane(binaries.required(), folder) as plane:
            yield plane


@pytest.fixture(scope="session")
def asker(api_server: ApiServer) -> Iterator[Asker]:
    made = Asker(api_server.url)
    yield made
    made.close()


@pytest.fixture
def place(asker: Asker) -> Place:
    return Place(asker)
