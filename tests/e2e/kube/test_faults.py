"""The fault matrix, each row at a few points; the check `faults` plays all of it."""

from collections.abc import Iterator, Mapping

import pytest

from tests.kube import binaries
from tests.kube.faults.matrix import played, undisturbed
from tests.kube.faults.rows import Case, short
from tests.kube.faults.run import EndState
from tests.kube.faults.site import Site, site

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]
Place = tuple[Site, Mapping[str, EndState]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A site, and how the story ends there when nothing fails."""
    with site(binaries.required(), tmp_path_factory.mktemp("site")) as made:
        yield made, undisturbed(made)


@pytest.mark.parametrize("case", short(), ids=lambda case: case.name)
def test_whatever_fails_it_ends_as_if_nothing_had(place: Place, case: Case) -> None:
    assert played(place[0], case, place[1]).problems == []
