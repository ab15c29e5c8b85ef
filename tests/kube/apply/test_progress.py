"""Events about steps: what was done is told once, however many attempts it took; a refusal each time."""

from tenure.client.kubernetes.apply.progress import News, Progress
from tenure.client.kubernetes.ledger.entry import Entry
from tenure.client.kubernetes.observe.picture import Picture
from tenure.v1 import outcome_pb2 as outcomes

from tests.kube.apply.made import NOW, bind, evict, group
from tests.kube.observe.world import World, member, pod, pod_group, queue, running

REFUSAL = "429 Cannot evict pod as it would violate the pod's disruption budget."


class Rig:
    """A pod group that waits for a pod to be evicted, and a pod of no pod group's object that does."""

    def __init__(self) -> None:
        self.world = World()
        self.world.put("kai_queues", queue("q"))
        self.world.put("kai_pod_groups", pod_group("job", minMember=1))
        self.world.put("pods", pod("waits", meta=member("job")))
        self.world.put("pods", pod("alone"))
        self.world.put("pods", running("v"))
        self.picture: Picture = self.world.picture()
        self.picture.snapshot(NOW)
        self.progress = Progress(self.world.mirrors)
        self.entry = Entry(group(evict("v"), bind("waits")))
        self.entry.group.beneficiary = "uid-job"

    def news(self) -> list[News]:
        return self.progress.news([self.entry], self.picture)

    def note(self, decision: str, result: outcomes.StepResult, retry: int = 0) -> None:
        step = outcomes.StepReport(decision_id=decision, result=result, detail=REFUSAL, retryable=retry > 0)
        step.retry_time.seconds = retry
        self.entry.note(step)


def test_what_was_done_is_told_once_also_after_it_was_refused() -> None:
    rig = Rig()
    assert rig.news() == []
    rig.note("bind-waits", outcomes.STEP_RESULT_FAILED, retry=1)
    assert rig.news() == []
    rig.note("bind-waits", outcomes.STEP_RESULT_APPLIED)
    (told,) = rig.news()
    assert (told.about.name, told.reason, told.key) == ("waits", "Scheduled", "bind-waits")
    assert rig.news() == []


def test_a_refused_eviction_is_told_on_the_pod_group_that_waits_and_counted_with_every_attempt() -> None:
    rig = Rig()
    for attempt in (1, 2):
        rig.note("evict-v", outcomes.STEP_RESULT_FAILED, retry=attempt)
        (told,) = rig.news()
        assert (told.about.kind, told.about.name, told.reason) == ("PodGroup", "job", "EvictionRefused")
        assert told.note == f"Pod team/v is not evicted: {REFUSAL}"
        assert told.is_counted
        assert rig.news() == []


def test_for_a_derived_pod_group_it_is_told_on_its_pod() -> None:
    rig = Rig()
    rig.entry.group.beneficiary = "uid-alone"
    rig.note("evict-v", outcomes.STEP_RESULT_FAILED, retry=1)
    (told,) = rig.news()
    assert (told.about.kind, told.about.name) == ("Pod", "alone")


def test_nothing_is_told_of_pods_that_are_gone() -> None:
    rig = Rig()
    rig.world.remove("pods", "uid-v")
    rig.note("evict-v", outcomes.STEP_RESULT_APPLIED)
    assert rig.news() == []
