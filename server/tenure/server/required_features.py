"""Calls that require features of the contract are rejected by a server that lacks one."""

from collections.abc import Callable
from typing import Any, TypeAlias

import grpc
from tenure.terms.formatting import join_words
from tenure.wire.features import MAX_LENGTH, METADATA_KEY, unknown_names
from tenure.wire.violations import quote_name

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class RequiredFeatures(grpc.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Rejects calls that name an unknown feature or field in their metadata (UNIMPLEMENTED), or too many."""

    def intercept_service(
        self,
        continuation: "Callable[[grpc.HandlerCallDetails], Handler | None]",
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Return the handler of the method, or one that rejects the call."""
        handler = continuation(handler_call_details)
        metadata = handler_call_details.invocation_metadata or ()
        texts = [str(value) for key, value in metadata if key == METADATA_KEY]
        if handler is None or not texts:
            return handler
        if (length := sum(map(len, texts))) > MAX_LENGTH:
            problem = f"{METADATA_KEY} has {length} characters, {MAX_LENGTH} are allowed: require fewer names"
            return _rejecting(handler, grpc.StatusCode.INVALID_ARGUMENT, problem)
        if not (unknown := unknown_names(texts)):
            return handler
        named = join_words([quote_name(name) for name in unknown])
        problem = f"the caller requires {named}, which this version of the server lacks"
        return _rejecting(handler, grpc.StatusCode.UNIMPLEMENTED, problem)


def _rejecting(handler: Handler, code: grpc.StatusCode, problem: str) -> Handler:
    """A handler of the same kind that ends every call."""

    def reject(_request: Any, context: grpc.ServicerContext) -> Any:
        context.abort(code, problem)

    def reject_stream(_request: Any, context: grpc.ServicerContext) -> Any:
        yield context.abort(code, problem)

    makers = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Any = makers[handler.request_streaming, handler.response_streaming]
    chosen = reject_stream if handler.response_streaming else reject
    return make(chosen, handler.request_deserializer, handler.response_serializer)  # type: ignore[no-any-return]
