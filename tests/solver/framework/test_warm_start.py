"""What sessions start from is found out once, handed on, and brought up to date with what changed."""

from dataclasses import replace

from tenure.solver.framework.warm_start import NO_CHANGE, WarmStartCache
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.registry import default_profile
from tenure.solver.resolution.slot_map import SlotChange

CHANGE = SlotChange(frozenset({1}), frozenset({7}))
OTHER = SlotChange(frozenset({2}), frozenset())
MANY = 100
PROFILE = default_profile()


class FakeSession:
    """Asks for one part, a list, and writes into it how it was asked for."""

    def __init__(self, opening: WarmStartCache) -> None:
        self._opening = opening
        assert opening.begin(PROFILE)
        self.part = self.get()

    def get(self) -> list[str]:
        return self._opening.get("part", self._build, self._update)

    def end(self, moved: SlotChange = NO_CHANGE, pod_groups: int = MANY) -> None:
        self._opening.end(moved, pod_groups)

    def _build(self) -> list[str]:
        return ["built"]

    def _update(self, part: list[str], change: SlotChange) -> None:
        part.append(f"{sorted(change.pod_groups)} {sorted(change.tasks)}")


def warm_start_after(moved: SlotChange = NO_CHANGE) -> WarmStartCache:
    opening = WarmStartCache()
    FakeSession(opening).end(moved)
    return opening


def test_derived_data_is_built_once_and_reused() -> None:
    opening = WarmStartCache()
    first = FakeSession(opening)
    assert first.get() is first.part
    first.end()
    assert FakeSession(opening).part is first.part
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
    opening = WarmStartCache()
    FakeSession(opening).end(CHANGE, pod_groups=3)
    assert FakeSession(opening).part == ["built"]


def test_delta_can_arrive_while_a_session_runs() -> None:
    opening = warm_start_after()
    running = FakeSession(opening)
    later = opening.advance(CHANGE, MANY)
    running.end(OTHER)
    session = FakeSession(later)
    assert session.part is running.part
    assert session.part == ["built", "[1, 2] [7]"]


def test_session_on_an_outdated_version_builds_its_own_data() -> None:
    opening = warm_start_after()
    after = opening.advance(CHANGE, MANY)
    newer = FakeSession(after)
    older = FakeSession(opening)
    assert older.part == ["built"]
    newer.end()
    older.end()
    assert FakeSession(opening).part == ["built"]
    assert FakeSession(after).part is newer.part


def test_unfinished_session_does_not_return_its_data() -> None:
    opening = warm_start_after()
    lost = FakeSession(opening).part
    session = FakeSession(opening)
    assert session.part is not lost
    session.end()
    assert FakeSession(opening).part is session.part


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
    opening = WarmStartCache()
    assert opening.get_static("nodes", lambda: 1) == 1
    assert opening.advance(CHANGE, 1).get_static("nodes", lambda: 2) == 1


def test_another_profile_does_not_share_data() -> None:
    opening = WarmStartCache()
    assert opening.begin(PROFILE)
    assert opening.begin(replace(PROFILE, actions=("reclaim",)))
    assert not opening.advance(NO_CHANGE, 1).begin(Profile(PROFILE.actions, PROFILE.plugins[:3]))
