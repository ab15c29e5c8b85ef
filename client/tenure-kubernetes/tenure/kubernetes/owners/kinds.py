"""Kinds of owners: what their pods have in common, and how many of them must run together.

`kinds.yaml` is the table. A configuration file adds rows to it in the same form, and its rows precede.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Annotated, Final, NamedTuple, Self

import yaml
from pydantic import BeforeValidator, ConfigDict, Field, model_validator
from tenure.kubernetes.owners.json_paths import Path, Paths, path_of
from tenure.process.values import ConfigSection

MAX_ROLES: Final = 20
SERVING_CLASS: Final = "inference"
TRAINING_CLASS: Final = "train"
"""Default priority classes, if they exist (semantics R1.81, R8.3)."""
_TABLE: Final = "kinds.yaml"


class Grouping(StrEnum):
    """Which pods below an owner are a pod group."""

    POD = "pod"
    """Each pod alone."""
    OWNER = "owner"
    """All pods of the owner."""
    LABEL = "label"
    """All pods of the namespace with the same value of a label."""
    BELOW = "below"
    """Those of the owners between; a pod directly below is alone."""


class _Row(ConfigSection):
    model_config = ConfigDict(**{**ConfigSection.model_config, "arbitrary_types_allowed": True})


class Factor(_Row):
    """A number that is read from an owner."""

    first: Paths = ()
    """The first path with a number above zero counts, else a zero, else `default`."""
    least: Paths = ()
    """The least number counts, if there is one."""
    default: Annotated[int, Field(ge=0, le=1_000_000)] = 1


def _factor(value: object) -> object:
    return {"first": value} if isinstance(value, str) else value


class RoleRow(_Row):
    """Equal pods of an owner, such as its workers."""

    each: Path
    """What it selects has one role each."""
    name: Annotated[str, Field(max_length=200)] = ""
    """A name, or a path to it that begins with $ or @. Empty: the key of what `each` selects."""
    size: tuple[Annotated[Factor, BeforeValidator(_factor)], ...] = ()
    """Number of pods that are created at once: the product. Empty: one pod."""
    later: Paths = ()
    """If one of these paths selects something, the pods are created only after others run."""
    pod_labels: dict[str, str] = {}
    """Pods with these labels have the role. Empty: pods whose label, of `roleLabels`, names it."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.each.is_of_element:
            raise ValueError("`each` must begin with $: it selects in the owner")
        if self.name.startswith(("$", "@")):
            path_of(self.name)
        return self


class OwnerKind(_Row):
    """A kind of owners."""

    api_group: str = ""
    kind: Annotated[str, Field(min_length=1)]
    pod_group: Grouping = Grouping.OWNER
    label: str = ""
    """With `podGroup: label`: the label of pods."""
    is_series: bool = False
    """Whether it creates workloads one after the other: what users write on it counts after the workload."""
    serves: bool = False
    """Whether the priority class without another is `inference`."""
    default_class: Annotated[str, Field(max_length=253)] = TRAINING_CLASS
    """The priority class without another, of what does not serve."""
    minimum: Paths = ()
    """Number of pods that must run together. Without one: all roles must be complete."""
    pods_annotation: str = ""
    """Annotation of pods with the number of pods of their pod group; the last role has what others leave."""
    roles: Annotated[tuple[RoleRow, ...], Field(max_length=MAX_ROLES)] = ()
    role_labels: tuple[str, ...] = ()
    """Labels of pods with the name of their role, in any case; the first one that a pod has counts."""
    queue: Paths = ()
    priority_class: Paths = ()
    preemptibility: Paths = ()
    suspend: Annotated[str, Field(pattern=r"^(spec(\.[A-Za-z]+)+)?$", max_length=100)] = ""
    """The field that suspends it if it is true, such as `spec.suspend`. Empty: none is known."""

    @property
    def class_without_another(self) -> str:
        """The priority class where neither users nor pods name one."""
        return SERVING_CLASS if self.serves else self.default_class

    @model_validator(mode="after")
    def _check(self) -> Self:
        is_by_label = self.pod_group is Grouping.LABEL
        if is_by_label != bool(self.label):
            raise ValueError("`label` and `podGroup: label` require each other")
        if self.pod_group in (Grouping.POD, Grouping.BELOW) and (self.minimum or self.roles):
            raise ValueError(f"`minimum` and `roles` have no meaning with `podGroup: {self.pod_group}`")
        plain = (*self.minimum, *self.queue, *self.priority_class, *self.preemptibility)
        if any(path.is_of_element for path in plain):
            raise ValueError("a path outside of roles must begin with $")
        return self


class OwnerKinds(NamedTuple):
    """All known kinds."""

    by_name: Mapping[tuple[str, str], OwnerKind]
    """By API group and kind."""

    def of(self, api_version: str, kind: str) -> OwnerKind | None:
        """The row of a kind, in all versions of its group; None: it is unknown."""
        group, slash, _ = api_version.rpartition("/")
        return self.by_name.get((group if slash else "", kind))

    def by_label(self, labels: Mapping[str, str]) -> OwnerKind | None:
        """The kind whose pods have a label that says which pods are a pod group; None: there is none."""
        rows = (row for row in self.by_name.values() if row.label and labels.get(row.label))
        return next(rows, None)

    def extended(self, rows: Iterable[OwnerKind]) -> "OwnerKinds":
        """With further rows, which replace those of the same name."""
        return OwnerKinds({**self.by_name, **{(row.api_group, row.kind): row for row in rows}})


@cache
def built_in_kinds() -> OwnerKinds:
    """The table."""
    text = (resources.files(__package__) / _TABLE).read_text()
    rows = (OwnerKind.model_validate(row) for row in yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506
    return OwnerKinds({}).extended(rows)
