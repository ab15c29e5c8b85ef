"""A profile is unchanged after serialization to the text that records and solver processes use."""

import json
from dataclasses import replace

import pytest
from tenure.solver.plugin_api.profile import Profile, profile_of, profile_text
from tenure.solver.registry import default_profile

DEFAULT = default_profile()


@pytest.mark.parametrize(
    "profile",
    [
        DEFAULT,
        replace(DEFAULT, options=replace(DEFAULT.options, speedups=())),
        replace(DEFAULT, options=replace(DEFAULT.options, speedups=("node_index",))),
    ],
    ids=["default", "no speedups", "one speedup"],
)
def test_profile_of_its_text_is_the_same(profile: Profile) -> None:
    assert profile_of(profile_text(profile)) == profile


def test_text_that_is_no_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a profile of this version"):
        profile_of("{}")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"unknown": 1, "speedups": []}, "unknown"),
        ({"speedups": ["pruning", "sooner"]}, "speedups sooner"),
    ],
)
def test_options_of_a_newer_version_are_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=f"has options of a newer version of Tenure: {named}$"):
        profile_of(json.dumps({"actions": [], "plugins": [], "options": options}))
