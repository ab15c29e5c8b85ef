"""The fault matrix, each row at a few points; the check `faults` runs all of it."""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from _pytest.mark import ParameterSet

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


OF_EVERY_CHANGE: Final = (
    "adapter killed before a call",
    "adapter killed after a call",
    "service killed",
    "API server restarted",
    "two adapters, one paused",
    "answer to every third write lost",
)
"""Rows that are run for every change; the others every night."""


def rows() -> list[ParameterSet]:
    """The short matrix, with marks."""
    marks = [() if case.row in OF_EVERY_CHANGE else (pytest.mark.thorough,) for case in short_matrix()]
    return [
        pytest.param(case, id=case.name, marks=mark) for case, mark in zip(short_matrix(), marks, strict=True)
    ]


@pytest.mark.parametrize("case", rows())
def test_run_with_fault_ends_like_a_run_without(site_and_end_state: Place, case: FaultCase) -> None:
    assert run_case(site_and_end_state[0], case, site_and_end_state[1]).problems == []
