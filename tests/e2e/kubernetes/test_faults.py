"""The fault matrix, each row at a few points; the check `faults` runs all of it."""

from collections.abc import Iterator, Mapping

import pytest

from tests.kubernetes.environment import binaries
from tests.kubernetes.fault_injection.matrix import run_case, run_without_faults
from tests.kubernetes.fault_injection.matrix_rows import FaultCase, short_matrix
from tests.kubernetes.fault_injection.run import EndState
from tests.kubernetes.fault_injection.site import Site, open_site

pytestmark = [
    pytest.mark.kube,
    pytest.mark.timeout(300),
    # The HTTP library leaves a socket to the garbage collector if the server dies during the handshake.
    pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning"),
]
Place = tuple[Site, Mapping[str, EndState]]


@pytest.fixture(scope="module")
def site_and_end_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A site, and the end state of the story without faults."""
    with open_site(binaries.required(), tmp_path_factory.mktemp("site")) as made:
        yield made, run_without_faults(made)


@pytest.mark.parametrize("case", short_matrix(), ids=lambda case: case.name)
def test_run_with_fault_ends_like_a_run_without(site_and_end_state: Place, case: FaultCase) -> None:
    assert run_case(site_and_end_state[0], case, site_and_end_state[1]).problems == []
