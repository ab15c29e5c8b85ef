"""Indexes of objects: the uids that belong to a key."""

from collections import defaultdict
from typing import TypeVar

_Key = TypeVar("_Key")


def drop(index: defaultdict[_Key, set[str]], key: _Key, uid: str) -> None:
    """Remove a uid from an index, and its key with the last one."""
    index[key].discard(uid)
    if not index[key]:
        del index[key]
