"""Summaries of cycles with only the given fields set."""

from tenure.codec.encode import encode_response
from tenure.codec.encoded_response import CycleSummary
from tenure.solver.model.decision import CycleResult, SearchCounters
from tenure.solver.testing import ClusterBuilder
from tenure.v1.decide_pb2 import ResponseHeader


def summary_with(**changes: object) -> CycleSummary:
    """A summary with these fields."""
    nothing = CycleResult((), (), (), (), None, (), SearchCounters())
    return encode_response(ClusterBuilder().build(), nothing, ResponseHeader()).summary._replace(**changes)
