"""The preemptibility annotation: known values ignore case, and an unknown value protects the pod group."""

import pytest
from tenure.v1 import snapshot_pb2 as pb
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import ProtectionScope

from tests.codec.snapshots.contested_snapshot import contested_snapshot, decide, evicted_pods, warnings_of

KEY = "kai.scheduler/preemptibility"
LEGACY = [("LEGACY_PREEMPTIBILITY", 1, ["runs"])]
UNKNOWN = [("UNKNOWN_PREEMPTIBILITY", 1, ["runs"])]
PREEMPTIBLE, NON_PREEMPTIBLE, SEMI = (
    pb.PREEMPTIBILITY_PREEMPTIBLE,
    pb.PREEMPTIBILITY_NON_PREEMPTIBLE,
    pb.PREEMPTIBILITY_SEMI_PREEMPTIBLE,
)


def annotated(
    text: str | None,
    field: pb.Preemptibility = pb.PREEMPTIBILITY_UNSPECIFIED,
    priority: int = 0,
    left_quota_milli: int = 2000,
) -> pb.ClusterSnapshot:
    snapshot = contested_snapshot(left_quota_milli=left_quota_milli)
    runs = snapshot.pod_groups[0]
    runs.preemptibility, runs.priority = field, priority
    if text is not None:
        runs.annotations[KEY] = text
    return snapshot


def protected_scope(answer: DecideResponse) -> str:
    """What the preemptibility of `runs` protects: ALL, CORE or nothing (empty)."""
    scopes = [each.scope for each in answer.protections if each.guard == "preemptibility"]
    assert len(scopes) < 2
    return "".join(ProtectionScope.Name(scope).removeprefix("PROTECTION_SCOPE_") for scope in scopes)


KNOWN = {
    "": "preemptible Preemptible PREEMPTIBLE pReemptiblE",
    "ALL": "non-preemptible Non-Preemptible NON-PREEMPTIBLE nonpreemptible NonPreemptible",
    "CORE": "semi-preemptible Semi-Preemptible SEMI-PREEMPTIBLE semipreemptible SemiPreemptible",
}
"""Protected scope, with spellings of the annotation value."""
SPELLINGS = [(text, scope) for scope, texts in KNOWN.items() for text in texts.split()]


@pytest.mark.parametrize(
    ("text", "scope"), [*SPELLINGS, (" preemptible\n", ""), ("\tnon-preemptible ", "ALL")]
)
def test_every_spelling_of_a_known_value_counts_without_a_warning_r8_20(text: str, scope: str) -> None:
    answer = decide(annotated(text))
    assert (protected_scope(answer), warnings_of(answer)) == (scope, [])


STRANGE = [
    "maybe",
    "true",
    "no",
    "-preemptible",
    "pre-emptible",
    "preemptible,non-preemptible",
    "non_preemptible",
    "non preemptible",
    "non--preemptible",
    "2",
    "x" * 10_000,
]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: text[:30])
def test_unknown_value_is_non_preemptible_with_a_warning(text: str) -> None:
    answer = decide(annotated(text))
    assert (protected_scope(answer), warnings_of(answer)) == ("ALL", UNKNOWN)
    (warning,) = answer.warnings
    assert warning.message.startswith(f"pod group runs: annotation {KEY}: '{text[:70]}")
    assert "write Preemptible, Non-Preemptible or Semi-Preemptible" in warning.message
    assert len(warning.message) < 300


@pytest.mark.parametrize("text", [None, "", "  ", "\n"])
@pytest.mark.parametrize(("priority", "scope"), [(99, ""), (100, "ALL")])
def test_empty_value_is_unset_and_the_priority_decides_r8_2(
    text: str | None, priority: int, scope: str
) -> None:
    answer = decide(annotated(text, priority=priority))
    assert (protected_scope(answer), warnings_of(answer)) == (scope, LEGACY)


@pytest.mark.parametrize(("text", "scope"), [("Preemptible", ""), ("SemiPreemptible", "CORE")])
def test_annotation_overrides_the_priority_r8_7(text: str, scope: str) -> None:
    assert protected_scope(decide(annotated(text, priority=125))) == scope


@pytest.mark.parametrize(("field", "scope"), [(PREEMPTIBLE, ""), (NON_PREEMPTIBLE, "ALL"), (SEMI, "CORE")])
@pytest.mark.parametrize("text", ["Preemptible", "NonPreemptible", "SemiPreemptible", "maybe", ""])
def test_field_overrides_the_annotation(field: pb.Preemptibility, scope: str, text: str) -> None:
    answer = decide(annotated(text, field))
    assert (protected_scope(answer), warnings_of(answer)) == (scope, [])


BOTH = {"runs-0", "runs-1"}
EVICTABLE = {"Preemptible": BOTH, "": BOTH, "SemiPreemptible": set(), "NonPreemptible": set(), "maybe": set()}


@pytest.mark.parametrize(("text", "expected"), EVICTABLE.items(), ids=[text or "empty" for text in EVICTABLE])
def test_pod_group_with_unreadable_value_is_not_evicted(text: str, expected: set[str]) -> None:
    """Queue `left` is above its fair share. The gang needs all its capacity, also the minimum of `runs`."""
    assert evicted_pods(decide(annotated(text, left_quota_milli=0))) == expected


EXAMPLES = {
    "1: of class inference, and preemptible": ("Preemptible", 125, BOTH),
    "2 and 3: of class train, and non-preemptible": ("Non-Preemptible", 50, set()),
    "4: of class build, and unset": (None, 100, set()),
    "unset, of class train": (None, 50, BOTH),
}


@pytest.mark.parametrize(("text", "priority", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_examples_of_the_proposal_r8_7(text: str | None, priority: int, expected: set[str]) -> None:
    assert evicted_pods(decide(annotated(text, priority=priority, left_quota_milli=0))) == expected


def test_unset_pod_groups_share_a_warning_and_unknown_values_do_not() -> None:
    snapshot = annotated(None)
    for uid, text in (("a", "maybe"), ("b", "perhaps"), ("c", "")):
        group = snapshot.pod_groups.add(uid=uid, queue="left", annotations={KEY: text})
        group.creation_time.seconds = 1
    assert warnings_of(decide(snapshot)) == [
        ("LEGACY_PREEMPTIBILITY", 2, ["c", "runs"]),
        ("UNKNOWN_PREEMPTIBILITY", 1, ["a"]),
        ("UNKNOWN_PREEMPTIBILITY", 1, ["b"]),
    ]
