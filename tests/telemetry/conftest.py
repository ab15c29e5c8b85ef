"""Servers of these tests send what they have at once."""

from collections.abc import Iterator

import pytest

from tests.telemetry.exposed import Exposed, expose


@pytest.fixture(scope="session", autouse=True)
def _sent_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for queue in ("BSP", "BLRP"):
            patch.setenv(f"OTEL_{queue}_SCHEDULE_DELAY", "50")
        yield


@pytest.fixture(scope="session")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Exposed:
    return expose(tmp_path_factory.mktemp("exposed"))
