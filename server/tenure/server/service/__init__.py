"""The gRPC service: admission, cycle queue, one function per method, and error mapping.

A method is a function `(shared, request, context) -> response` in a file of its own and one line in
`service.py`. It raises what went wrong; `error_mapping.py` says what that is on the wire.
"""

from tenure.server.service.service import SERVICE, DecisionService

__all__ = ["SERVICE", "DecisionService"]
