"""The gRPC service: who may come in, whose turn it is, one file per method, and errors callers can act on.

A method is a function `(shared, request, context) -> response` in a file of its own and one line in
`service.py`. It raises what went wrong; `error_mapping.py` says what that is on the wire.
"""

from tenure.server.service.service import SERVICE, DecisionService

__all__ = ["SERVICE", "DecisionService"]
