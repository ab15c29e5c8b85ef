import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import snapshot_pb2 as _snapshot_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PreemptibilitySource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREEMPTIBILITY_SOURCE_UNSPECIFIED: _ClassVar[PreemptibilitySource]
    PREEMPTIBILITY_SOURCE_FIELD: _ClassVar[PreemptibilitySource]
    PREEMPTIBILITY_SOURCE_ANNOTATION: _ClassVar[PreemptibilitySource]
    PREEMPTIBILITY_SOURCE_PRIORITY: _ClassVar[PreemptibilitySource]
    PREEMPTIBILITY_SOURCE_LABEL: _ClassVar[PreemptibilitySource]
PREEMPTIBILITY_SOURCE_UNSPECIFIED: PreemptibilitySource
PREEMPTIBILITY_SOURCE_FIELD: PreemptibilitySource
PREEMPTIBILITY_SOURCE_ANNOTATION: PreemptibilitySource
PREEMPTIBILITY_SOURCE_PRIORITY: PreemptibilitySource
PREEMPTIBILITY_SOURCE_LABEL: PreemptibilitySource

class PodGroupStatus(_message.Message):
    __slots__ = ("pod_group", "preemptibility", "preemptibility_source", "preemptibility_problem", "min_pods", "held_by", "not_before_time", "expected_runtime", "expected_runtime_source", "expected_end", "expected_end_certainty", "latest_end", "requeue_not_before", "requested_preemptibility", "not_in_force")
    POD_GROUP_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBILITY_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBILITY_SOURCE_FIELD_NUMBER: _ClassVar[int]
    PREEMPTIBILITY_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    MIN_PODS_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_RUNTIME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_RUNTIME_SOURCE_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_END_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_END_CERTAINTY_FIELD_NUMBER: _ClassVar[int]
    LATEST_END_FIELD_NUMBER: _ClassVar[int]
    REQUEUE_NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_PREEMPTIBILITY_FIELD_NUMBER: _ClassVar[int]
    NOT_IN_FORCE_FIELD_NUMBER: _ClassVar[int]
    pod_group: str
    preemptibility: _snapshot_pb2.Preemptibility
    preemptibility_source: PreemptibilitySource
    preemptibility_problem: str
    min_pods: int
    held_by: _snapshot_pb2.HoldReason
    not_before_time: _timestamp_pb2.Timestamp
    expected_runtime: _duration_pb2.Duration
    expected_runtime_source: str
    expected_end: _timestamp_pb2.Timestamp
    expected_end_certainty: _snapshot_pb2.Certainty
    latest_end: _timestamp_pb2.Timestamp
    requeue_not_before: _timestamp_pb2.Timestamp
    requested_preemptibility: _snapshot_pb2.Preemptibility
    not_in_force: str
    def __init__(self, pod_group: _Optional[str] = ..., preemptibility: _Optional[_Union[_snapshot_pb2.Preemptibility, str]] = ..., preemptibility_source: _Optional[_Union[PreemptibilitySource, str]] = ..., preemptibility_problem: _Optional[str] = ..., min_pods: _Optional[int] = ..., held_by: _Optional[_Union[_snapshot_pb2.HoldReason, str]] = ..., not_before_time: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expected_runtime: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., expected_runtime_source: _Optional[str] = ..., expected_end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expected_end_certainty: _Optional[_Union[_snapshot_pb2.Certainty, str]] = ..., latest_end: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requeue_not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., requested_preemptibility: _Optional[_Union[_snapshot_pb2.Preemptibility, str]] = ..., not_in_force: _Optional[str] = ...) -> None: ...

class UnusableGpus(_message.Message):
    __slots__ = ("free_gpu_milli", "no_cpu_gpu_milli", "no_gpu_gpu_milli", "neither_gpu_milli", "other_kind_gpu_milli")
    FREE_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    NO_CPU_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    NO_GPU_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    NEITHER_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    OTHER_KIND_GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    free_gpu_milli: int
    no_cpu_gpu_milli: int
    no_gpu_gpu_milli: int
    neither_gpu_milli: int
    other_kind_gpu_milli: int
    def __init__(self, free_gpu_milli: _Optional[int] = ..., no_cpu_gpu_milli: _Optional[int] = ..., no_gpu_gpu_milli: _Optional[int] = ..., neither_gpu_milli: _Optional[int] = ..., other_kind_gpu_milli: _Optional[int] = ...) -> None: ...
