"""GetCapabilities: what a caller can find out instead of reading documentation."""

from importlib.metadata import PackageNotFoundError

import pytest
from tenure.client import Client
from tenure.server import capabilities
from tenure.server.digest import profile_digest
from tenure.server.engine import Engine
from tenure.server.settings import ServerLimits
from tenure.server.settings.server import MaxRows
from tenure.solver.framework.profile import Options, PluginSetting, Profile
from tenure.solver.model.duration import SECOND
from tenure.solver.registry import ACTION_NAMES, default_profile
from tenure.v1.capabilities_pb2 import Limits

from tests.server.given import small_snapshot
from tests.server.running import server_here


def test_profile_is_told_with_all_that_is_known() -> None:
    profile = Profile(("preempt", "allocate"), (PluginSetting("proportion"), PluginSetting("elastic")))
    with server_here(Engine(profile)) as (_, address), Client(address) as client:
        told = client.capabilities()
        assert told.profile_digest == client.decide(small_snapshot()).based_on.profile_digest
    assert list(told.actions) == list(ACTION_NAMES)
    assert {"minruntime", "numa", "evictionlimit", "expectedruntime"} <= set(told.plugins)
    assert list(told.plugins) == sorted(told.plugins)
    assert list(told.profile_actions) == ["preempt", "allocate"]
    assert list(told.profile_plugins) == ["proportion", "elastic"]
    assert told.profile_digest == profile_digest(profile)
    assert not told.records


def test_every_limit_is_told_as_it_is_set() -> None:
    limits = ServerLimits().model_copy(
        update={
            "max_message_mib": 3,
            "max_part_mib": 2,
            "max_rows": MaxRows().model_copy(update={"pods": 77}),
            "max_name_length": 11,
            "max_text_length": 12,
            "max_states": 13,
            "max_state_mib": 14,
            "state_idle_timeout": 15 * SECOND,
            "max_waiting_calls": 16,
            "max_streams": 17,
            "stream_idle_timeout": 18 * SECOND,
            "max_staleness": 21 * SECOND,
        }
    )
    options = Options(max_simulations_per_pod_group=19, max_simulations_per_action=20)
    profile = Profile(("allocate",), default_profile().plugins, options)
    told = capabilities.capabilities(profile, limits).limits
    assert told.max_rows.pop("pods") == 77
    assert told.max_rows == MaxRows().model_dump(exclude={"pods"})
    told.ClearField("max_rows")
    assert told == Limits(
        max_message_bytes=3 * 2**20,
        max_part_bytes=2 * 2**20,
        max_name_length=11,
        max_text_length=12,
        max_states=13,
        max_state_bytes=14 * 2**20,
        state_idle_timeout={"seconds": 15},
        max_waiting_calls=16,
        max_streams=17,
        stream_idle_timeout={"seconds": 18},
        max_simulations_per_pod_group=19,
        max_simulations_per_action=20,
        max_staleness={"seconds": 21},
    )


def test_no_limit_of_the_contract_is_forgotten() -> None:
    told = capabilities.capabilities(default_profile(), ServerLimits()).limits
    known = {field.name for field in Limits.DESCRIPTOR.fields}
    assert {field.name for field, _ in told.ListFields()} == known - {"max_staleness"}


def test_any_age_is_told_by_no_limit() -> None:
    assert not capabilities.capabilities(default_profile(), ServerLimits()).limits.HasField("max_staleness")


def test_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "version", lambda name: f"1.2.3 of {name}")
    assert capabilities.server_version() == "1.2.3 of tenure"


def test_code_that_is_not_installed_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(capabilities, "version", missing)
    assert capabilities.server_version() == "unknown"
