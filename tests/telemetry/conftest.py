"""Servers of these tests send what they have at once."""

from collections.abc import Iterator

import pytest
from prometheus_client import Metric

from tests.telemetry.exposed import Exposed, expose
from tests.telemetry.exposed_adapter import expose_adapter
from tests.telemetry.served import sent_at_once


@pytest.fixture(scope="session", autouse=True)
def _sent_at_once() -> Iterator[None]:
    with sent_at_once():
        yield


@pytest.fixture(scope="session")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Exposed:
    return expose(tmp_path_factory.mktemp("exposed"))


@pytest.fixture(scope="session")
def adapter_families(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metric]:
    return expose_adapter(tmp_path_factory.mktemp("exposed-adapter"))
