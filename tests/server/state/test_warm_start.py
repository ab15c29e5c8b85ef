"""Derived data is built once, passed from session to session, and updated with the changes."""

from dataclasses import replace

from tenure.server.state.warm_start import WarmStartCache
from tenure.solver.framework.derived_data import DerivedData
from tenure.solver.plugin_api.derived import NO_CHANGE, Derived
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.resolution.slot_map import SlotChange

CHANGE = SlotChange(frozenset({1}), frozenset({7}))
OTHER = SlotChange(frozenset({2}), frozenset())
MANY = 100
PROFILE = default_profile()


def update(part: list[str], _: None, change: SlotChange) -> None:
    if change != NO_CHANGE:
        part.append(f"{sorted(change.pod_groups)} {sorted(change.tasks)}")


PART: Derived[None, list[str]] = Derived(lambda _: ["built"], update, list[str].copy)
"""A list that records how it was built and updated."""


class FakeSession:
    """A session that uses one derived value."""

    def __init__(self, warm_start: WarmStartCache) -> None:
        self._data = DerivedData(PROFILE, warm_start)
        self.part = self.get()

    def get(self) -> list[str]:
        return self._data.get(PART, None)

    def end(self, moved: SlotChange = NO_CHANGE, pod_groups: int = MANY) -> None:
        assert self._data.leave(moved, pod_groups)


def warm_start_after(moved: SlotChange = NO_CHANGE) -> WarmStartCache:
    warm_start = WarmStartCache()
    FakeSession(warm_start).end(moved)
    return warm_start


def test_derived_data_is_built_once_and_reused() -> None:
    warm_start = WarmStartCache()
    first = FakeSession(warm_start)
    assert first.get() is first.part
    first.end()
    assert FakeSession(warm_start).part is first.part
    assert first.part == ["built"]


def test_all_changes_since_the_last_session_are_applied_together() -> None:
    later = warm_start_after().advance(CHANGE, MANY).advance(OTHER, MANY)
    session = FakeSession(later)
    assert session.part == ["built", "[1, 2] [7]"]
    session.end()
    assert FakeSession(later).part == ["built", "[1, 2] [7]"]


def test_moves_of_a_session_are_applied_in_the_next() -> None:
    assert FakeSession(warm_start_after(CHANGE)).part == ["built", "[1] [7]"]
    assert FakeSession(warm_start_after(CHANGE).advance(OTHER, MANY)).part == ["built", "[1, 2] [7]"]


def test_many_changes_cause_a_rebuild() -> None:
    assert FakeSession(warm_start_after().advance(CHANGE, 3)).part == ["built"]


def test_many_moves_cause_a_rebuild() -> None:
    warm_start = WarmStartCache()
    FakeSession(warm_start).end(CHANGE, pod_groups=3)
    assert FakeSession(warm_start).part == ["built"]


def test_delta_can_arrive_while_a_session_runs() -> None:
    warm_start = warm_start_after()
    running = FakeSession(warm_start)
    later = warm_start.advance(CHANGE, MANY)
    running.end(OTHER)
    session = FakeSession(later)
    assert session.part is running.part
    assert session.part == ["built", "[1, 2] [7]"]


def test_session_on_an_outdated_version_builds_its_own_data() -> None:
    warm_start = warm_start_after()
    after = warm_start.advance(CHANGE, MANY)
    newer = FakeSession(after)
    older = FakeSession(warm_start)
    assert older.part == ["built"]
    newer.end()
    older.end()
    assert FakeSession(warm_start).part == ["built"]
    assert FakeSession(after).part is newer.part


def test_unfinished_session_does_not_return_its_data() -> None:
    warm_start = warm_start_after()
    lost = FakeSession(warm_start).part
    session = FakeSession(warm_start)
    assert session.part is not lost
    session.end()
    assert FakeSession(warm_start).part is session.part


def test_data_built_for_a_variant_is_reused_for_the_state() -> None:
    state = WarmStartCache()
    session = FakeSession(state.branch(CHANGE))
    assert session.part == ["built"]
    session.end(OTHER)
    assert FakeSession(state).part == ["built", "[1, 2] [7]"]


def test_fork_uses_copies_and_returns_nothing() -> None:
    state = warm_start_after()
    session = FakeSession(state.fork(CHANGE))
    assert session.part == ["built", "[1] [7]"]
    session.end()
    assert FakeSession(state).part == ["built"]


def test_fork_does_not_share_data_of_a_running_session() -> None:
    state = warm_start_after()
    running = FakeSession(state)
    assert FakeSession(state.fork()).part == ["built"]
    running.end()


def test_data_of_nodes_alone_survives_other_changes() -> None:
    warm_start, of_nodes = WarmStartCache(), Derived[None, object](lambda _: object())
    first = DerivedData(PROFILE, warm_start)
    value = first.get(of_nodes, None)
    first.leave(CHANGE, 1)
    assert DerivedData(PROFILE, warm_start.advance(CHANGE, 1)).get(of_nodes, None) is value


def test_another_profile_does_not_share_data() -> None:
    warm_start = WarmStartCache()
    assert warm_start.begin(PROFILE)
    assert warm_start.begin(replace(PROFILE, actions=("reclaim",)))
    assert not warm_start.advance(NO_CHANGE, 1).begin(Profile(PROFILE.actions, PROFILE.plugins[:3]))
