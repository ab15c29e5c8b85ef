"""docs/reference/annotations.md names every annotation and label that the adapter reads or writes."""

import re
from pathlib import Path

from tenure.codec.annotations import KEYS
from tenure.kubernetes.observe import derived_pod_groups, names

PAGE = (Path(__file__).parents[3] / "docs/reference/annotations.md").read_text()
NOT_KEYS = ("metadata.name", "kai-resource-reservation", "nvidia.com/mig-")
"""Strings that are not annotations: a field, a namespace and the prefix of resource names."""


def known_keys() -> set[str]:
    constants = {name: value for name, value in vars(names).items() if name.isupper()}
    found = set(KEYS)
    for value in constants.values():
        found |= {value} if isinstance(value, str) else set(value)
    found |= set(re.findall(r'"(leaderworkerset[^"]+)"', Path(derived_pod_groups.__file__).read_text()))
    return found - set(NOT_KEYS)


def test_every_key_is_on_the_page() -> None:
    assert sorted(key for key in known_keys() if f"`{key}`" not in PAGE) == []


def test_every_prefixed_key_of_the_page_exists() -> None:
    listed = set(re.findall(r"`([a-z0-9.-]+\.[a-z]+/[a-z0-9.-]+)`", PAGE))
    assert sorted(listed - known_keys() - {"kai.scheduler/node-pool"}) == []
