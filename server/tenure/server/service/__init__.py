"""The gRPC service: admission, cycle queue, one function per method, and error mapping.

A method is a function `(shared, request, context) -> response` and one line in `service.py`. Exceptions are
converted to statuses by `error_mapping.py`.
"""

from tenure.server.service.service import SERVICE, DecisionService

__all__ = ["SERVICE", "DecisionService"]
