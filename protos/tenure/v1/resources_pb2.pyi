from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Resources(_message.Message):
    __slots__ = ("cpu_milli", "memory_bytes", "gpu_milli", "pods", "extended")
    class ExtendedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    GPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    EXTENDED_FIELD_NUMBER: _ClassVar[int]
    cpu_milli: int
    memory_bytes: int
    gpu_milli: int
    pods: int
    extended: _containers.ScalarMap[str, int]
    def __init__(self, cpu_milli: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., gpu_milli: _Optional[int] = ..., pods: _Optional[int] = ..., extended: _Optional[_Mapping[str, int]] = ...) -> None: ...

class GpuRequest(_message.Message):
    __slots__ = ("devices", "portion_milli", "memory_mib")
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    PORTION_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MIB_FIELD_NUMBER: _ClassVar[int]
    devices: int
    portion_milli: int
    memory_mib: int
    def __init__(self, devices: _Optional[int] = ..., portion_milli: _Optional[int] = ..., memory_mib: _Optional[int] = ...) -> None: ...

class NumaPlacement(_message.Message):
    __slots__ = ("zone", "amounts")
    ZONE_FIELD_NUMBER: _ClassVar[int]
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    zone: str
    amounts: Resources
    def __init__(self, zone: _Optional[str] = ..., amounts: _Optional[_Union[Resources, _Mapping]] = ...) -> None: ...
