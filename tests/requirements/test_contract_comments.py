"""The comments of the contract are its documentation: each is there, whole, and says what users must know."""

import re
from typing import Final

import pytest

from tests.contract.proto_comments import all_declarations

COMMENTS: Final = {
    name: " ".join(line.strip() for line in comment)
    for each in all_declarations()
    for name, comment in [
        (each.name, each.comment),
        *((f"{each.name}.{member.name}", member.comment) for member in each.members),
    ]
}
"""Comments by message, `Message.field` or `Enum.VALUE`."""
FACTS: Final = {
    "PodGroup.preemptibility": ["evicted while running"],
    "PodGroup.priority": ["Higher is scheduled first within the queue", "may preempt lower"],
    "PodGroup.min_member": ["Minimum number of pods", "more pods than its minimum is elastic"],
    "Preemptibility": ["evicted while running"],
    "Preemptibility.PREEMPTIBILITY_UNSPECIFIED": ["annotation", "below 100", "legacy rule", "warning"],
    "Preemptibility.PREEMPTIBILITY_PREEMPTIBLE": ["May be evicted for other pod groups"],
    "Preemptibility.PREEMPTIBILITY_NON_PREEMPTIBLE": ["Runs to completion", "within the quota of its queue"],
    "Preemptibility.PREEMPTIBILITY_SEMI_PREEMPTIBLE": [
        "minimum runs to completion",
        "within the quota of its queue",
        "beyond the minimum may be evicted",
    ],
    "PodGroup.annotations": [
        "where the corresponding field is unset",
        "kai.scheduler/preemptibility",
        "kai.scheduler/expected-runtime",
        "kai.scheduler/requeue-delay",
        "kai.scheduler/requeue-not-before",
        "never makes the pod group easier to evict",
    ],
    "WarningCode.WARNING_CODE_LEGACY_PREEMPTIBILITY": ["derived from the priority"],
    "WarningCode.WARNING_CODE_UNKNOWN_PREEMPTIBILITY": ["unknown value", "non-preemptible"],
    "Queue.preempt_min_runtime": [
        "same leaf queue",
        "inherit from the parent",
        "arguments of the plugin minruntime",
        "explicit zero stops inheritance",
    ],
    "Queue.reclaim_min_runtime": ["different leaf queues", "same inheritance"],
    "PodGroup.last_start_time": ["last start", "not protected by minimum runtime"],
    "PodGroup.expected_runtime": ["counted from its last start", "higher priority", "annotation", "queue"],
    "PodGroup.requeue_delay": ["not nominated again", "annotation", "queue", "profile"],
    "PodGroup.requeue_not_before": ["Earliest time", "Set by patches", "annotation"],
    "PodGroup.opt_out_actions": ["may not evict its pods"],
}
"""What these comments must say, in their words."""


@pytest.mark.parametrize(("name", "facts"), FACTS.items(), ids=FACTS)
def test_comment_says_what_users_must_know(name: str, facts: list[str]) -> None:
    assert [fact for fact in facts if fact not in COMMENTS[name]] == []


def test_every_comment_is_a_whole_sentence() -> None:
    """Also after the loss of a first or a last line."""
    sentence = re.compile(r'["A-Z0-9`-].+\.', re.DOTALL)
    assert [name for name, text in COMMENTS.items() if not sentence.fullmatch(text)] == []
    assert len(COMMENTS) > 600
