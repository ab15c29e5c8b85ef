"""A profile is unchanged after serialization to the text that records and solver processes use."""

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


def test_options_of_a_newer_version_are_named() -> None:
    text = '{"actions": [], "plugins": [], "options": {"unknown": 1, "speedups": []}}'
    with pytest.raises(ValueError, match=r"has options of a newer version of Tenure: unknown"):
        profile_of(text)
