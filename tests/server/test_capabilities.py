"""GetCapabilities: limits and features that a caller can discover."""

from tenure.client import Client
from tenure.codec.engine import Engine
from tenure.server import capabilities
from tenure.server.settings import ServerLimits
from tenure.server.settings.server import MaxRows
from tenure.solver.plugin_api.profile import CycleOptions, PluginConfig, Profile, profile_digest
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.terms.durations import SECOND
from tenure.v1.capabilities_pb2 import Limits
from tenure.wire.limits import MAX_LENGTHS

from tests.server.servers import run_server
from tests.small_snapshot import small_snapshot


def test_profile_actions_plugins_and_digest_are_reported() -> None:
    profile = Profile(("preempt", "allocate"), (PluginConfig("proportion"), PluginConfig("elastic")))
    with run_server(Engine(profile)) as (_, address), Client(address) as client:
        response = client.get_capabilities()
        assert response.profile_digest == client.decide(small_snapshot()).header.profile_digest
    assert list(response.actions) == list(BUILT_IN.actions)
    assert {"minruntime", "numa", "evictionlimit", "expectedruntime"} <= set(response.plugins)
    assert list(response.plugins) == sorted(response.plugins)
    assert list(response.profile_actions) == ["preempt", "allocate"]
    assert list(response.profile_plugins) == ["proportion", "elastic"]
    assert response.profile_digest == profile_digest(profile)
    assert not response.recording_enabled


def test_every_limit_is_reported_as_configured() -> None:
    limits = ServerLimits().model_copy(
        update={
            "max_message_mib": 3,
            "max_chunk_mib": 2,
            "max_rows": MaxRows().model_copy(update={"pods": 77}),
            "max_name_length": 11,
            "max_text_length": 12,
            "max_states": 13,
            "max_state_mib": 14,
            "state_idle_timeout": 15 * SECOND,
            "max_queued_calls": 16,
            "max_streams": 17,
            "stream_idle_timeout": 18 * SECOND,
            "max_staleness": 21 * SECOND,
        }
    )
    options = CycleOptions(max_simulations_per_pod_group=19, max_simulations_per_action=20)
    profile = Profile(("allocate",), default_profile().plugins, options)
    reported_limits = capabilities.build_capabilities(profile, limits).limits
    assert reported_limits.max_rows.pop("pods") == 77
    assert reported_limits.max_rows == {**MaxRows().model_dump(exclude={"pods"}), **MAX_LENGTHS}
    reported_limits.ClearField("max_rows")
    assert reported_limits == Limits(
        max_message_bytes=3 * 2**20,
        max_chunk_bytes=2 * 2**20,
        max_name_length=11,
        max_text_length=12,
        max_states=13,
        max_state_bytes=14 * 2**20,
        state_idle_timeout={"seconds": 15},
        max_queued_calls=16,
        max_streams=17,
        stream_idle_timeout={"seconds": 18},
        max_simulations_per_pod_group=19,
        max_simulations_per_action=20,
        max_staleness={"seconds": 21},
    )


def test_every_limit_of_the_contract_is_reported() -> None:
    limits = capabilities.build_capabilities(default_profile(), ServerLimits()).limits
    known = {field.name for field in Limits.DESCRIPTOR.fields}
    assert {field.name for field, _ in limits.ListFields()} == known - {"max_staleness"}


def test_unlimited_staleness_is_reported_as_unset() -> None:
    assert not capabilities.build_capabilities(default_profile(), ServerLimits()).limits.HasField(
        "max_staleness"
    )
