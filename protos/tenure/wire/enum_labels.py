"""Names of values of the contract, as programs and people read them."""

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
"""The values of the annotation, as they are usually written."""


@lru_cache
def enum_label(enum: EnumTypeWrapper, value: int) -> str:
    """A value in lower case without the enum's prefix: `missing_start`; `other` for one of a later version.

    Finite, so that it can label a metric.
    """
    if value not in enum.values():
        return "other"
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return enum.Name(value).removeprefix(prefix).lower()
