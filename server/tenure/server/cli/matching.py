"""Finding what a person named, and saying what is alike when there is no such thing."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

_MOST_ALIKE: Final = 5


def pod_group(snapshot: "ClusterSnapshot", name: str, hint: str) -> "PodGroup":
    """The pod group with this uid, name or NAMESPACE/NAME. Refuses what is unknown or not unique."""
    for names in _named(snapshot):
        if found := names.get(name):
            if len(found) == 1:
                return found[0]
            uids = ", ".join(sorted(group.uid for group in found)[:_MOST_ALIKE])
            raise typer.BadParameter(
                f"several pod groups are named {name!r}; say which: {uids}", param_hint=hint
            )
    known = {known for names in _named(snapshot) for known in names}
    raise typer.BadParameter(unknown("pod group", name, known), param_hint=hint)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """That there is no such thing, and what is alike."""
    alike = get_close_matches(name, sorted(known), n=_MOST_ALIKE, cutoff=0.5)
    hint = f"; did you mean {', '.join(alike)}?" if alike else ""
    return f"there is no {what} {name!r}{hint}"


def _named(snapshot: "ClusterSnapshot") -> list[dict[str, list["PodGroup"]]]:
    """Pod groups by uid, by NAMESPACE/NAME and by name; the first that knows a name decides."""
    by_uid: dict[str, list[PodGroup]] = {}
    by_path: dict[str, list[PodGroup]] = {}
    by_name: dict[str, list[PodGroup]] = {}
    for group in snapshot.pod_groups:
        by_uid.setdefault(group.uid, []).append(group)
        by_name.setdefault(group.name or group.uid, []).append(group)
        if group.namespace:
            by_path.setdefault(f"{group.namespace}/{group.name}", []).append(group)
    return [by_uid, by_path, by_name]
