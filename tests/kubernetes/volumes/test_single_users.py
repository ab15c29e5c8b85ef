"""Claims that allow one pod: the first pod of a claim, and the pods that a change affects."""

from collections import defaultdict
from datetime import UTC, datetime

import pytest
from tenure.kubernetes.objects.meta import ObjectMeta
from tenure.kubernetes.objects.pod import Pod, PodSpec, PodStatus
from tenure.kubernetes.volumes.matching import ClaimName
from tenure.kubernetes.volumes.single_users import SingleUsers

CLAIM = ClaimName("team", "data")


class Users:
    """Pods of one claim, named by their uid."""

    def __init__(self, *, for_one: bool = True) -> None:
        self.pods: dict[str, Pod] = {}
        self.users: defaultdict[ClaimName, set[str]] = defaultdict(set)
        self.single = SingleUsers(self.users, self.pods, lambda name: for_one)

    def put(self, uid: str, age: int = 0, node: str = "", scheduler: str = "tenure") -> set[str]:
        """Add or replace a pod; return the pods that the change concerns."""
        meta = ObjectMeta(uid=uid, name=uid, creation_timestamp=datetime(2026, 1, 1, 23 - age, tzinfo=UTC))
        phase = "Running" if node else "Pending"
        self.pods[uid] = Pod(meta, PodSpec(node_name=node, scheduler_name=scheduler), PodStatus(phase=phase))
        self.users[CLAIM].add(uid)
        self.single.note(CLAIM)
        return self.single.take_changes(())

    def remove(self, uid: str) -> set[str]:
        self.users[CLAIM].discard(uid)
        self.single.note(CLAIM)
        return self.single.take_changes(())

    def other(self, uid: str) -> str:
        return self.single.other_user(self.pods[uid], CLAIM)


def test_the_oldest_waiting_pod_comes_first_until_one_is_on_a_node() -> None:
    users = Users()
    users.put("young", age=1)
    users.put("old", age=2)
    assert (users.other("old"), users.other("young")) == ("", "old")
    users.put("young", age=1, node="n1")
    assert (users.other("old"), users.other("young")) == ("young", "old")
    assert users.remove("young") == {"old"}
    assert users.other("old") == ""


def test_waiting_pods_of_other_schedulers_do_not_count() -> None:
    users = Users()
    users.put("theirs", age=2, scheduler="default-scheduler")
    users.put("ours", age=1)
    assert users.other("ours") == ""
    users.put("theirs", age=2, node="n1", scheduler="default-scheduler")
    assert users.other("ours") == "theirs"


@pytest.mark.parametrize("number", [10, 100])
def test_a_later_pod_concerns_no_other_one(number: int) -> None:
    users = Users()
    assert users.put("first", age=2) == {"first"}
    assert [users.put(f"later-{i:03}") for i in range(number)] == [set()] * number
    assert len(users.put("older", age=3)) == number + 2


def test_claims_for_several_pods_are_not_followed() -> None:
    users = Users(for_one=False)
    assert users.put("one", node="n1") == set()
    users.put("other")
    assert users.other("other") == ""
