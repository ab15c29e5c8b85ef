"""Columns of pods written anew: one text may be a name of several kinds, and then gets several names."""

from collections.abc import Callable
from typing import Final

from tenure.server.codec.columns import TEXT_COLUMNS
from tenure.server.redact.fields import NAMES, Name
from tenure.v1.snapshot_pb2 import PodColumns

_COPIED: Final = ("status", "creation_time_delta")


def rewrite_columns(source: PodColumns, target: PodColumns, change: Callable[[Name, str, str], str]) -> None:
    """Fill the target; columns must be sound, and empty ones stay empty."""
    for field in _COPIED:
        getattr(target, field).extend(getattr(source, field))
    for field in ("uid", "name"):
        name = NAMES[f"Pod.{field}"]
        getattr(target, field).extend([change(name, "", text) for text in getattr(source, field)])
    texts: dict[str, int] = {}
    old = list(source.texts)
    groups = [old[index] for index in source.pod_group]
    for field in TEXT_COLUMNS:
        name, column = NAMES[f"Pod.{field}"], getattr(source, field)
        scopes = groups if field == "sub_group" and column else [""] * len(column)
        new = [change(name, scope, old[index]) for scope, index in zip(scopes, column, strict=True)]
        getattr(target, field).extend([texts.setdefault(text, len(texts)) for text in new])
    target.texts.extend(texts)
