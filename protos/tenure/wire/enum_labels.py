"""Labels of enum values for metrics, logs and tables."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from tenure.v1.snapshot_pb2 import Preemptibility

PREEMPTIBILITY: Final[Mapping[int, str]] = {
    Preemptibility.PREEMPTIBILITY_PREEMPTIBLE: "Preemptible",
    Preemptibility.PREEMPTIBILITY_NON_PREEMPTIBLE: "Non-Preemptible",
    Preemptibility.PREEMPTIBILITY_SEMI_PREEMPTIBLE: "Semi-Preemptible",
}
"""Values of the annotation in their usual spelling."""


@lru_cache
def enum_label(enum: EnumTypeWrapper, value: int) -> str:
    """Name of a value in lower case without the prefix of the enum, such as `missing_start`.

    A value of a later version is `other`, so the set of labels is finite.
    """
    if value not in enum.values():
        return "other"
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return enum.Name(value).removeprefix(prefix).lower()
