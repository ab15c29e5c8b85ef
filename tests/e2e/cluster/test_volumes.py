"""Pods with volume claims on a real cluster: nothing is bound before its volumes are, and nothing hangs."""

from collections.abc import Iterator

import pytest

from tests.e2e.cluster.story import Story
from tests.e2e.cluster.volumes import Provisioner, StoryStorage, mount, run_provisioner
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube

DRIVER = "disk.csi.test"
NONE = "kubernetes.io/no-provisioner"
WAITING = "WaitingForVolume"


@pytest.fixture
def storage(story: Story) -> StoryStorage:
    """Nodes n1 and n2, and the classes `disk` of an external provisioner and `local` of static volumes."""
    story.node("n1")
    story.node("n2")
    made = StoryStorage(story)
    made.storage_class("disk", DRIVER)
    made.storage_class("local", NONE)
    return made


@pytest.fixture
def provisioner(story: Story) -> Iterator[Provisioner]:
    with run_provisioner(story, DRIVER) as running:
        yield running


def test_pod_runs_on_the_node_of_its_bound_volume(story: Story, storage: StoryStorage) -> None:
    storage.storage_class("now", NONE, waits=False)
    storage.volume("v", "now", "n2")
    storage.claim("data", "now")
    wait_until(lambda: storage.phase("data") == "Bound")
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    assert list(story.live("one").values()) == ["n2"]


@pytest.mark.usefixtures("provisioner")
def test_claim_that_waits_for_a_pod_is_provisioned_on_its_node(story: Story, storage: StoryStorage) -> None:
    storage.claim("data", "disk")
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    assert storage.phase("data") == "Bound"
    assert list(story.live("one").values()) == [storage.selected_node("data")]


def test_free_volume_is_used_on_its_node(story: Story, storage: StoryStorage) -> None:
    storage.volume("v", "local", "n2")
    storage.claim("data", "local")
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    assert list(story.live("one").values()) == ["n2"]
    assert storage.read_claim("data")["spec"]["volumeName"] == story.full("v")


def test_another_node_is_chosen_when_the_provisioner_refuses(
    story: Story, storage: StoryStorage, provisioner: Provisioner
) -> None:
    provisioner.refused_nodes = frozenset((story.full("n1"),))
    storage.claim("data", "disk")
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    assert list(story.live("one").values()) == ["n2"]
    assert provisioner.refusals <= 1


def test_no_pod_of_a_gang_is_bound_before_all_its_volumes(
    story: Story, storage: StoryStorage, provisioner: Provisioner
) -> None:
    provisioner.is_paused = True
    storage.claim("data", "disk")
    storage.volume("v", "local", "n2")
    storage.claim("fast", "local")
    story.gang("gang", pods=2, gpus=4, **mount("data", "fast"))
    wait_until(lambda: storage.phase("fast") == "Bound" and storage.selected_node("data"))
    wait_until(lambda: list(story.waiting("gang").values()) == [WAITING, WAITING])
    assert story.live("gang") == {}
    provisioner.is_paused = False
    wait_until(lambda: story.running("gang") == 2)


def test_pod_says_which_claim_it_waits_for(story: Story, storage: StoryStorage) -> None:
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: list(story.waiting("one").values()) == [WAITING])
    wait_until(lambda: "volume claim 'data' does not exist" in str(story.event_notes(WAITING)))
    storage.volume("v", "local", "n1")
    storage.claim("data", "local")
    wait_until(lambda: story.running("one") == 1)


@pytest.mark.usefixtures("provisioner")
def test_claim_is_provisioned_where_capacity_is_left(story: Story, storage: StoryStorage) -> None:
    storage.driver(DRIVER, tracks_capacity=True)
    storage.capacity("on-n1", "disk", "n1", "1Gi")
    storage.capacity("on-n2", "disk", "n2", "5Gi")
    storage.claim("data", "disk", size="2Gi")
    story.job("one", pods=1, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    assert list(story.live("one").values()) == ["n2"]


@pytest.mark.usefixtures("provisioner")
def test_node_takes_no_more_volumes_than_it_attaches(story: Story, storage: StoryStorage) -> None:
    storage.attach_limit("n1", DRIVER, 1)
    storage.attach_limit("n2", DRIVER, 2)
    for number in range(4):
        storage.claim(f"data-{number}", "disk")
        story.job(f"job-{number}", pods=1, gpus=1, **mount(f"data-{number}"))
    wait_until(lambda: sum(story.running(f"job-{number}") for number in range(4)) == 3)
    nodes = [node for number in range(4) for node in story.live(f"job-{number}").values()]
    assert sorted(nodes) == ["n1", "n2", "n2"]
    (last,) = (number for number in range(4) if not story.live(f"job-{number}"))
    wait_until(lambda: list(story.waiting(f"job-{last}").values()) == ["Unschedulable"])
    # A volume that was requested before the adapter saw the limits keeps its node, as with kube-scheduler.
    kept = storage.selected_node(f"data-{last}")
    first = next(
        number for number in range(4) for node in story.live(f"job-{number}").values() if kept in ("", node)
    )
    story.delete("Job", f"job-{first}")
    wait_until(lambda: story.running(f"job-{last}") == 1)


@pytest.mark.usefixtures("provisioner")
def test_claim_for_one_pod_is_used_by_one_at_a_time(story: Story, storage: StoryStorage) -> None:
    storage.claim("data", "disk", mode="ReadWriteOncePod")
    story.job("one", pods=2, gpus=1, **mount("data"))
    wait_until(lambda: story.running("one") == 1)
    wait_until(lambda: list(story.waiting("one").values()) == [WAITING])
    (holder,) = story.live("one")
    story.evict(holder)
    wait_until(lambda: holder not in story.live("one") and story.running("one") == 1)


@pytest.mark.usefixtures("provisioner")
def test_stateful_set_comes_back_to_its_volumes(story: Story, storage: StoryStorage) -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": story.full("disk"),
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    story.stateful_set("db", replicas=2, gpus=1, spec={"volumeClaimTemplates": [claim]})
    wait_until(lambda: story.running("db") == 2)
    before = story.live("db")
    story.evict("db-1")
    wait_until(lambda: story.running("db") == 1)
    wait_until(lambda: story.running("db") == 2)
    assert story.live("db") == before
