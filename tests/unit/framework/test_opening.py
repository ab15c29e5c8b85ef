"""What sessions start from is found out once, and brought up to date with what changed."""

from dataclasses import replace

from tenure.solver.framework.opening import NO_CHANGE, Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.model.slots import Change
from tenure.solver.registry import default_profile

CHANGE = Change(frozenset({1}), frozenset({7}))
OTHER = Change(frozenset({2}), frozenset())


class Part:
    """Says how it was asked for."""

    def __init__(self, opening: Opening) -> None:
        self.said: list[str] = []
        self.value = opening.get("part", self._build, self._update)

    def _build(self) -> str:
        self.said.append("built")
        return "new"

    def _update(self, before: str, change: Change) -> str:
        self.said.append(f"{sorted(change.pod_groups)} {sorted(change.tasks)}")
        return f"{before}+"


def test_a_part_is_built_once() -> None:
    opening = Opening()
    assert Part(opening).said == ["built"]
    assert Part(opening).said == []


def test_all_that_changed_since_is_told_at_once() -> None:
    first = Opening()
    Part(first)
    later = first.after(CHANGE, 10).after(OTHER, 10)
    part = Part(later)
    assert (part.said, part.value) == (["[1, 2] [7]"], "new+")
    assert Part(later).said == []
    assert Part(first).said == []


def test_after_many_changes_a_part_is_built_anew() -> None:
    first = Opening()
    Part(first)
    assert Part(first.after(CHANGE, 3)).said == ["built"]


def test_what_is_found_out_beside_a_state_serves_the_state() -> None:
    state = Opening()
    beside = state.beside(CHANGE, 10)
    assert Part(beside).said == ["built"]
    part = Part(state)
    assert (part.said, part.value) == (["[1] [7]"], "new+")


def test_what_follows_from_nodes_alone_stays() -> None:
    opening = Opening()
    assert opening.once("nodes", lambda: 1) == 1
    assert opening.after(CHANGE, 1).once("nodes", lambda: 2) == 1


def test_another_profile_has_to_look_for_itself() -> None:
    profile, opening = default_profile(), Opening()
    assert opening.suits(profile)
    assert opening.suits(replace(profile, actions=("reclaim",)))
    assert not opening.after(NO_CHANGE, 1).suits(Profile(profile.actions, profile.plugins[:3]))
