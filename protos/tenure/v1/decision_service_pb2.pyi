from tenure.v1 import capabilities_pb2 as _capabilities_pb2
from tenure.v1 import cycles_pb2 as _cycles_pb2
from tenure.v1 import decide_pb2 as _decide_pb2
from tenure.v1 import explain_pb2 as _explain_pb2
from tenure.v1 import report_pb2 as _report_pb2
from tenure.v1 import simulate_pb2 as _simulate_pb2
from tenure.v1 import state_pb2 as _state_pb2
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor
