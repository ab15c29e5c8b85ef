"""What sessions start from is found out once, handed on, and brought up to date with what changed."""

from dataclasses import replace

from tenure.solver.framework.opening import NO_CHANGE, Opening
from tenure.solver.framework.profile import Profile
from tenure.solver.model.slots import Change
from tenure.solver.registry import default_profile

CHANGE = Change(frozenset({1}), frozenset({7}))
OTHER = Change(frozenset({2}), frozenset())
MANY = 100
PROFILE = default_profile()


class Session:
    """Asks for one part, a list, and writes into it how it was asked for."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        assert opening.begin(PROFILE)
        self.part = self.get()

    def get(self) -> list[str]:
        return self._opening.get("part", self._build, self._update)

    def end(self, moved: Change = NO_CHANGE, pod_groups: int = MANY) -> None:
        self._opening.end(moved, pod_groups)

    def _build(self) -> list[str]:
        return ["built"]

    def _update(self, part: list[str], change: Change) -> None:
        part.append(f"{sorted(change.pod_groups)} {sorted(change.tasks)}")


def left_by_a_session(moved: Change = NO_CHANGE) -> Opening:
    opening = Opening()
    Session(opening).end(moved)
    return opening


def test_a_part_is_built_once_and_handed_on() -> None:
    opening = Opening()
    first = Session(opening)
    assert first.get() is first.part
    first.end()
    assert Session(opening).part is first.part
    assert first.part == ["built"]


def test_all_that_changed_since_is_told_at_once() -> None:
    later = left_by_a_session().after(CHANGE, MANY).after(OTHER, MANY)
    session = Session(later)
    assert session.part == ["built", "[1, 2] [7]"]
    session.end()
    assert Session(later).part == ["built", "[1, 2] [7]"]


def test_what_a_session_moved_is_told_the_next_one() -> None:
    assert Session(left_by_a_session(CHANGE)).part == ["built", "[1] [7]"]
    assert Session(left_by_a_session(CHANGE).after(OTHER, MANY)).part == ["built", "[1, 2] [7]"]


def test_after_many_changes_a_part_is_built_anew() -> None:
    assert Session(left_by_a_session().after(CHANGE, 3)).part == ["built"]


def test_after_many_moves_a_part_is_built_anew() -> None:
    opening = Opening()
    Session(opening).end(CHANGE, pod_groups=3)
    assert Session(opening).part == ["built"]


def test_a_delta_may_come_while_a_session_runs() -> None:
    opening = left_by_a_session()
    running = Session(opening)
    later = opening.after(CHANGE, MANY)
    running.end(OTHER)
    session = Session(later)
    assert session.part is running.part
    assert session.part == ["built", "[1, 2] [7]"]


def test_who_comes_too_late_builds_its_own() -> None:
    opening = left_by_a_session()
    after = opening.after(CHANGE, MANY)
    newer = Session(after)
    older = Session(opening)
    assert older.part == ["built"]
    newer.end()
    older.end()
    assert Session(opening).part == ["built"]
    assert Session(after).part is newer.part


def test_a_session_that_does_not_end_takes_its_parts_with_it() -> None:
    opening = left_by_a_session()
    lost = Session(opening).part
    session = Session(opening)
    assert session.part is not lost
    session.end()
    assert Session(opening).part is session.part


def test_what_is_found_out_beside_a_state_serves_the_state() -> None:
    state = Opening()
    session = Session(state.beside(CHANGE))
    assert session.part == ["built"]
    session.end(OTHER)
    assert Session(state).part == ["built", "[1, 2] [7]"]


def test_a_fork_has_copies_and_leaves_nothing() -> None:
    state = left_by_a_session()
    session = Session(state.fork(CHANGE))
    assert session.part == ["built", "[1] [7]"]
    session.end()
    assert Session(state).part == ["built"]


def test_a_fork_has_nothing_of_what_a_session_has() -> None:
    state = left_by_a_session()
    running = Session(state)
    assert Session(state.fork()).part == ["built"]
    running.end()


def test_what_follows_from_nodes_alone_stays() -> None:
    opening = Opening()
    assert opening.once("nodes", lambda: 1) == 1
    assert opening.after(CHANGE, 1).once("nodes", lambda: 2) == 1


def test_another_profile_has_to_look_for_itself() -> None:
    opening = Opening()
    assert opening.begin(PROFILE)
    assert opening.begin(replace(PROFILE, actions=("reclaim",)))
    assert not opening.after(NO_CHANGE, 1).begin(Profile(PROFILE.actions, PROFILE.plugins[:3]))
