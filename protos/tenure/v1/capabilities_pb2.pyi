import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetCapabilitiesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetCapabilitiesResponse(_message.Message):
    __slots__ = ("version", "actions", "plugins", "profile_actions", "profile_plugins", "profile_digest", "limits", "recording_enabled", "contract_revision", "features")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ACTIONS_FIELD_NUMBER: _ClassVar[int]
    PLUGINS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_ACTIONS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_PLUGINS_FIELD_NUMBER: _ClassVar[int]
    PROFILE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RECORDING_ENABLED_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_REVISION_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    version: str
    actions: _containers.RepeatedScalarFieldContainer[str]
    plugins: _containers.RepeatedScalarFieldContainer[str]
    profile_actions: _containers.RepeatedScalarFieldContainer[str]
    profile_plugins: _containers.RepeatedScalarFieldContainer[str]
    profile_digest: str
    limits: Limits
    recording_enabled: bool
    contract_revision: int
    features: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[str] = ..., actions: _Optional[_Iterable[str]] = ..., plugins: _Optional[_Iterable[str]] = ..., profile_actions: _Optional[_Iterable[str]] = ..., profile_plugins: _Optional[_Iterable[str]] = ..., profile_digest: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., recording_enabled: bool = ..., contract_revision: _Optional[int] = ..., features: _Optional[_Iterable[str]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("max_message_bytes", "max_chunk_bytes", "max_rows", "max_name_length", "max_text_length", "max_states", "max_state_bytes", "state_idle_timeout", "max_queued_calls", "max_streams", "stream_idle_timeout", "max_simulations_per_pod_group", "max_simulations_per_action", "max_staleness")
    class MaxRowsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_CHUNK_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    MAX_NAME_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_LENGTH_FIELD_NUMBER: _ClassVar[int]
    MAX_STATES_FIELD_NUMBER: _ClassVar[int]
    MAX_STATE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATE_IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    MAX_QUEUED_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_STREAMS_FIELD_NUMBER: _ClassVar[int]
    STREAM_IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    MAX_SIMULATIONS_PER_POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    MAX_SIMULATIONS_PER_ACTION_FIELD_NUMBER: _ClassVar[int]
    MAX_STALENESS_FIELD_NUMBER: _ClassVar[int]
    max_message_bytes: int
    max_chunk_bytes: int
    max_rows: _containers.ScalarMap[str, int]
    max_name_length: int
    max_text_length: int
    max_states: int
    max_state_bytes: int
    state_idle_timeout: _duration_pb2.Duration
    max_queued_calls: int
    max_streams: int
    stream_idle_timeout: _duration_pb2.Duration
    max_simulations_per_pod_group: int
    max_simulations_per_action: int
    max_staleness: _duration_pb2.Duration
    def __init__(self, max_message_bytes: _Optional[int] = ..., max_chunk_bytes: _Optional[int] = ..., max_rows: _Optional[_Mapping[str, int]] = ..., max_name_length: _Optional[int] = ..., max_text_length: _Optional[int] = ..., max_states: _Optional[int] = ..., max_state_bytes: _Optional[int] = ..., state_idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_queued_calls: _Optional[int] = ..., max_streams: _Optional[int] = ..., stream_idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_simulations_per_pod_group: _Optional[int] = ..., max_simulations_per_action: _Optional[int] = ..., max_staleness: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...
