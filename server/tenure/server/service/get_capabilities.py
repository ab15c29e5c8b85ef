"""GetCapabilities: what this server does, knows and accepts."""

import grpc
from tenure.server.capabilities import capabilities
from tenure.server.service.shared import Shared
from tenure.v1.capabilities_pb2 import GetCapabilitiesRequest, GetCapabilitiesResponse


def get_capabilities(
    shared: Shared, request: GetCapabilitiesRequest, context: grpc.ServicerContext
) -> GetCapabilitiesResponse:
    """The same for every caller, as long as the server runs and its disk is well."""
    return capabilities(shared.engine.profile, shared.limits, records=shared.recorder.is_recording)
