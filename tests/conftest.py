"""What all tests have in common."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def state_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Servers that keep records keep them in a folder of the test run, not in that of whoever runs it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
