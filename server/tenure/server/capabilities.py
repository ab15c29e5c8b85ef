"""Response of GetCapabilities: version, profile and limits."""

from typing import Final

from google.protobuf.duration_pb2 import Duration
from tenure.process.version import package_version
from tenure.server.settings import ServerLimits
from tenure.solver.plugin_api.profile import Profile, profile_digest
from tenure.solver.plugin_api.registry import Registry
from tenure.solver.registry import BUILT_IN, SERVICE_FEATURES
from tenure.v1.capabilities_pb2 import GetCapabilitiesResponse, Limits
from tenure.wire.features import CONTRACT_REVISION, FEATURES
from tenure.wire.limits import MAX_LENGTHS
from tenure.wire.timestamps import span

_MIB: Final = 2**20


def build_capabilities(
    profile: Profile, limits: ServerLimits, registry: Registry = BUILT_IN, *, records: bool = False
) -> GetCapabilitiesResponse:
    """Capabilities of a server with a profile and limits."""
    return GetCapabilitiesResponse(
        version=package_version(),
        actions=registry.actions,
        plugins=sorted({*registry.plugins, *SERVICE_FEATURES}),
        profile_actions=profile.actions,
        profile_plugins=[plugin.name for plugin in profile.plugins],
        profile_digest=profile_digest(profile),
        limits=_limits(profile, limits),
        recording_enabled=records,
        contract_revision=CONTRACT_REVISION,
        features=sorted(FEATURES),
    )


def _limits(profile: Profile, limits: ServerLimits) -> Limits:
    return Limits(
        max_message_bytes=limits.max_message_mib * _MIB,
        max_chunk_bytes=limits.max_chunk_mib * _MIB,
        max_rows={**limits.max_rows.model_dump(), **MAX_LENGTHS},
        max_name_length=limits.max_name_length,
        max_text_length=limits.max_text_length,
        max_states=limits.max_states,
        max_state_bytes=limits.max_state_mib * _MIB,
        state_idle_timeout=span(limits.state_idle_timeout),
        max_queued_calls=limits.max_queued_calls,
        max_streams=limits.max_streams,
        stream_idle_timeout=span(limits.stream_idle_timeout),
        max_simulations_per_pod_group=profile.options.max_simulations_per_pod_group,
        max_simulations_per_action=profile.options.max_simulations_per_action,
        max_staleness=_optional_span(limits.max_staleness),
    )


def _optional_span(nanoseconds: int | None) -> Duration | None:
    return None if nanoseconds is None else span(nanoseconds)
