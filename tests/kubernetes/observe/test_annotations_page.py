"""docs/reference/annotations.md names every annotation and label that the adapter reads or writes."""

import re
from pathlib import Path

from tenure.kubernetes.objects import names
from tenure.kubernetes.owners.kinds import built_in_kinds

PAGE = (Path(__file__).parents[3] / "docs/reference/annotations.md").read_text()
NOT_KEYS = ("metadata.name", "kai-resource-reservation", "nvidia.com/mig-")
"""Strings that are not annotations: a field, a namespace and the prefix of resource names."""


def known_keys() -> set[str]:
    constants = {name: value for name, value in vars(names).items() if name.isupper()}
    found = {key for each in constants.pop("ANNOTATIONS") for key in each.keys}
    del constants["SENT"]
    for value in constants.values():
        found |= {value} if isinstance(value, str) else set(value)
    for kind in built_in_kinds().by_name.values():
        found |= {kind.label, kind.pods_annotation, *kind.role_labels}
        found |= {key for role in kind.roles for key in role.pod_labels}
        found |= {key for path in kind.minimum for key in re.findall(r"annotations\['([^']+)'\]", path.text)}
    return found - {*NOT_KEYS, ""}


def test_every_key_is_on_the_page() -> None:
    assert sorted(key for key in known_keys() if f"`{key}`" not in PAGE) == []


def test_every_prefixed_key_of_the_page_exists() -> None:
    listed = set(re.findall(r"`([a-z0-9.-]+\.[a-z]+/[a-z0-9.-]+)`", PAGE))
    assert sorted(listed - known_keys() - {"kai.scheduler/node-pool"}) == []


def test_every_wish_of_owners_is_in_their_table() -> None:
    table = PAGE.partition("## On pods and their owners")[2].partition("### Precedence")[0]
    assert sorted(key for key in names.WISHES if f"`{key}`" not in table) == []
