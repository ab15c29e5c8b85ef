import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import decide_pb2 as _decide_pb2
from tenure.v1 import state_pb2 as _state_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListStatesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListStatesResponse(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedCompositeFieldContainer[_state_pb2.StateReference]
    def __init__(self, states: _Optional[_Iterable[_Union[_state_pb2.StateReference, _Mapping]]] = ...) -> None: ...

class ListCyclesRequest(_message.Message):
    __slots__ = ("cluster_id", "node_pool", "after")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_POOL_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    node_pool: str
    after: int
    def __init__(self, cluster_id: _Optional[str] = ..., node_pool: _Optional[str] = ..., after: _Optional[int] = ...) -> None: ...

class ListCyclesResponse(_message.Message):
    __slots__ = ("cycles", "state")
    CYCLES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    cycles: _containers.RepeatedCompositeFieldContainer[RecentCycle]
    state: _state_pb2.StateReference
    def __init__(self, cycles: _Optional[_Iterable[_Union[RecentCycle, _Mapping]]] = ..., state: _Optional[_Union[_state_pb2.StateReference, _Mapping]] = ...) -> None: ...

class RecentCycle(_message.Message):
    __slots__ = ("number", "response", "decided_time", "trace_id", "caller")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    DECIDED_TIME_FIELD_NUMBER: _ClassVar[int]
    TRACE_ID_FIELD_NUMBER: _ClassVar[int]
    CALLER_FIELD_NUMBER: _ClassVar[int]
    number: int
    response: _decide_pb2.DecideResponse
    decided_time: _timestamp_pb2.Timestamp
    trace_id: str
    caller: str
    def __init__(self, number: _Optional[int] = ..., response: _Optional[_Union[_decide_pb2.DecideResponse, _Mapping]] = ..., decided_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., trace_id: _Optional[str] = ..., caller: _Optional[str] = ...) -> None: ...
