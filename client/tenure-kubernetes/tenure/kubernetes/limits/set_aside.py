"""Objects that are set aside: they are not scheduled, and named, so that none of them stops the others."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from tenure.kubernetes.objects.meta import POD_GROUP, ObjectReference
from tenure.kubernetes.rows.row_table import readable

SET_ASIDE: Final = "SetAside"
"""Code of objects that have no row, because a server would refuse it, or every row with it."""
QUEUE_FORBIDDEN: Final = "QueueForbidden"
"""Code of pod groups and pods whose namespace may not use their queue. Pods on nodes keep their rows."""
COUNTED: Final = (
    *((kind, SET_ASIDE) for kind in ("Node", "Pod", POD_GROUP, "Queue", "Topology")),
    *((kind, QUEUE_FORBIDDEN) for kind in ("Pod", POD_GROUP)),
)
"""Kinds of objects that can be set aside, with codes."""


class SetAsideReason(NamedTuple):
    """Why an object is set aside."""

    text: str
    """"": it is not."""
    code: str = SET_ASIDE


class SetAsideObject(NamedTuple):
    """An object that is not scheduled."""

    target: ObjectReference
    reason: SetAsideReason
    pods: tuple[str, ...]
    """Uids of its pods, or of the pod."""


class SetAsideTable:
    """All objects that are set aside, by key. An object is new once for each reason, and with new pods."""

    def __init__(self) -> None:
        self.objects: dict[str, SetAsideObject] = {}
        self._new: dict[str, None] = {}

    def put(
        self, key: str, target: ObjectReference, reason: SetAsideReason, pods: tuple[str, ...] = ()
    ) -> None:
        """Set an object aside, unless the reason is empty: then it is not, or no longer."""
        if not reason.text:
            return self.discard(key)
        before, reason = self.objects.get(key), reason._replace(text=readable(reason.text))
        self.objects[key] = SetAsideObject(target, reason, pods)
        if before is None or before.reason != reason or not set(before.pods).issuperset(pods):
            self._new[key] = None
        return None

    def discard(self, key: str) -> None:
        """The object is gone, or has a row."""
        self.objects.pop(key, None)
        self._new.pop(key, None)

    def take_new(self) -> list[SetAsideObject]:
        """Objects that were set aside, for another reason or with more pods since the last call."""
        fresh, self._new = self._new, {}
        return [self.objects[key] for key in fresh]

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Number of objects by kind and code."""
        return Counter((one.target.kind, one.reason.code) for one in self.objects.values())


def unexpected(error: Exception) -> str:
    """Reason of an object that cannot be read."""
    return readable(f"it cannot be read: {type(error).__name__}: {error}")
