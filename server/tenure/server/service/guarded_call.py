"""One call: its caller, the clusters that its requests name, whether the policy permits them, and its memory.

Every method reads its requests here, so this is the one place where calls are judged. A request is judged
before anything is looked up, so that an error does not depend on what the server stores.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Generic, NamedTuple, TypeVar

import grpc
from google.protobuf.message import Message
from tenure.server.audit import AuditEntry
from tenure.server.memory import SMALL_BYTES
from tenure.server.security.callers import CURRENT, NotAuthenticated, PermissionDenied, caller_key
from tenure.server.security.policy import Verb
from tenure.server.service.error_mapping import status_of
from tenure.server.service.named_clusters import named_clusters
from tenure.server.service.service_context import ServiceContext
from tenure.server.shard import Shard
from tenure.server.state.memory_model import decoded_bytes
from tenure.server.telemetry.call_metrics import call_span
from tenure.v1.state_pb2 import FAULTS_REFUSE, FAULTS_SET_ASIDE
from tenure.wire.scanner import LongTexts, check_request

Request = TypeVar("Request", bound=Message)
_IN_ROW: Final = re.compile(r"(upserts\.)?([a-z_]+\[\d+\]\.|pod_columns\.(uid|name|string_table)\[)")
"""Paths of texts within rows of a snapshot."""


class MethodName(NamedTuple):
    """Name of a method on the wire: SERVICE/METHOD."""

    service: str
    method: str


class GuardedCall(Generic[Request]):
    """A call of one method. Used by one thread at a time, except for `recheck`."""

    def __init__(
        self,
        name: MethodName,
        kind: type[Request],
        verb: Verb,
        shared: ServiceContext,
        context: grpc.ServicerContext,
        *,
        is_upload: bool,
    ) -> None:
        """`is_upload`: all requests together are one, which names its cluster in the first."""
        self.key = caller_key(context)
        self.deadline = shared.cycle_queue.call_deadline(context)
        self._caller = CURRENT.get()
        self._name = name
        self._kind = kind
        self._verb = verb
        self._shared = shared
        self._is_upload = is_upload
        self._is_read = False
        self._shards: tuple[Shard, ...] = ()
        """Clusters of the last request."""
        self._version: int | None = None
        self._memory_bytes = 0
        """Memory that is reserved for the last request."""

    def read(self, content: bytes) -> Request:
        """Parse a request that the caller may make, and reserve memory for it instead of the one before.

        Raises DecodeError if it is not valid, the errors of check_request and RequestMemory, CallEnded, and
        PermissionDenied.
        """
        return self.read_tolerantly(content)[0]

    def read_tolerantly(self, content: bytes) -> tuple[Request, bool]:
        """Request as `read` returns it, and whether rows have too long texts, which are set aside."""
        before = self._shards[0] if self._is_upload and self._is_read else None
        self._is_read = self._is_upload and self._is_read
        request, has_long_texts = self._parse(content)
        if self._is_upload:
            self.free()  # an upload counts its chunks itself
        named = named_clusters(request, before)
        self._shards = named.shards
        if not self._is_read:
            self._version = named.version
        self._is_read = True
        verbs = {self._verb, Verb.PUSH} if named.has_delta else {self._verb}
        for verb in sorted(verbs):
            self._judge(verb)
        return request, has_long_texts

    def free(self) -> None:
        """Return the memory of the last request, which is no longer used."""
        self._shared.request_memory.free(self.key, self._memory_bytes)
        self._memory_bytes = 0

    def recheck(self) -> None:
        """Raise NotAuthenticated or PermissionDenied if the credentials or the permission ended.

        Before the first request, a caller that has the verb on no cluster has no permission.
        """
        self._caller.verify()
        self._judge(self._verb)

    def note_state(self, response: Message | bytes) -> None:
        """Remember the version of the state in a response, if it has one."""
        state = None if isinstance(response, bytes) else getattr(response, "state", None)
        if state is not None and state.version:
            self._version = state.version

    def audit(self, result: str, denied: Shard | None = None) -> None:
        """Write a line about the last request, if there is one; `denied` is a cluster that it names."""
        if not self._is_read:
            return
        shard = denied or next(iter(self._shards), Shard("", ""))
        identity = self._caller.identity
        self._shared.audit.write(
            AuditEntry(
                *(identity.name, identity.authentication, self._caller.peer, self._name.method),
                *(*shard, self._version, result),
            )
        )

    def reject(self, error: NotAuthenticated | PermissionDenied) -> None:
        """Count and log that the call is rejected."""
        reason = error.reason if isinstance(error, NotAuthenticated) else "permission denied"
        self._shared.access.rejections.add(self._caller.peer, reason, str(error))

    def _parse(self, content: bytes) -> tuple[Request, bool]:
        """The request, and whether there are violations that the method sets aside."""
        try:
            rows = check_request(content, self._kind, self._shared.limits, self.deadline.check)
        except LongTexts as invalid:
            self._reserve(decoded_bytes(len(content), invalid.rows))
            request = self._kind.FromString(content)
            is_tolerant = getattr(request, "faults", FAULTS_REFUSE) == FAULTS_SET_ASIDE
            if is_tolerant and all(_IN_ROW.match(violation.field) for violation in invalid.violations):
                return request, True
            raise
        self._reserve(decoded_bytes(len(content), rows))
        return self._kind.FromString(content), False

    def _reserve(self, size: int) -> None:
        self.free()
        if size > SMALL_BYTES:
            self._shared.request_memory.take(self.key, size)
            self._memory_bytes = size

    def _judge(self, verb: Verb) -> None:
        for shard in self._shards or (None,):
            self._shared.access.judge(self._caller, verb, shard)


@contextmanager
def guarded_call(
    name: MethodName,
    kind: type[Request],
    verb: Verb,
    shared: ServiceContext,
    context: grpc.ServicerContext,
    *,
    is_upload: bool = False,
    is_audited_by_message: bool = False,
) -> Iterator[GuardedCall[Request]]:
    """A call for the block: with a span, an audit line, and a status for every exception.

    `is_audited_by_message`: the block writes a line for each response, so only errors are left.
    """
    with call_span(*name, context):
        call = GuardedCall(name, kind, verb, shared, context, is_upload=is_upload)
        result, denied = "CANCELLED", None
        try:
            yield call
            result = "OK"
        except Exception as error:
            if isinstance(error, NotAuthenticated | PermissionDenied):
                call.reject(error)
                denied = error.shard if isinstance(error, PermissionDenied) else None
            status = status_of(error, kind.DESCRIPTOR.full_name)
            result = status.code.name
            context.abort_with_status(status)
        finally:
            call.free()
            if not (is_audited_by_message and result in ("OK", "CANCELLED")):
                call.audit(result, denied)
