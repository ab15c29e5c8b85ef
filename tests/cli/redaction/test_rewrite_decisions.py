"""The decisions on a redacted snapshot equal those on the original snapshot, except for names."""

from pathlib import Path

import pytest
from tenure.cli.redaction import redact
from tenure.client.snapshot_file import read_snapshot
from tenure.v1.snapshot_pb2 import ClusterSnapshot
from tenure.wire.columns import to_columns
from tenure.wire.violations import SnapshotValidationError

from tests.cli.redaction.adversarial_names import adversarial_snapshot
from tests.cli.redaction.cluster_message import to_message
from tests.cli.redaction.name_restoration import decide_redacted
from tests.e2e.command import SAMPLE
from tests.e2e.test_openb import LOADS, snapshot_at
from tests.fuzz import corpus
from tests.properties.generators.draw import SeededDraw
from tests.properties.generators.random_clusters import random_cluster
from tests.state.generated_snapshots import generate_snapshot

SEEDS = range(10)


def agree(snapshot: ClusterSnapshot) -> int:
    """Return the number of decision groups."""
    plain, expected, found = decide_redacted(snapshot)
    assert found == expected
    return len(plain.groups)


@pytest.mark.parametrize("decade", SEEDS)
def test_decisions_on_random_clusters_agree(decade: int) -> None:
    seeds = range(10 * decade, 10 * decade + 10)
    assert sum(agree(to_message(random_cluster(SeededDraw(seed)))) for seed in seeds) > 0


@pytest.mark.parametrize("decade", SEEDS)
def test_decisions_with_adversarial_names_agree(decade: int) -> None:
    seeds = range(30 * decade, 30 * decade + 30)
    assert sum(agree(adversarial_snapshot(SeededDraw(seed))) for seed in seeds) > 0


def test_decisions_on_messages_and_columns_agree() -> None:
    snapshots = [generate_snapshot(SeededDraw(seed), 4, 60) for seed in SEEDS]
    assert sum(map(agree, snapshots)) == sum(agree(to_columns(snapshot)) for snapshot in snapshots) > 0


def test_decision_on_a_snapshot_with_every_field_agrees() -> None:
    agree(corpus.snapshot())


def test_decision_on_the_sample_agrees() -> None:
    assert agree(read_snapshot(str(SAMPLE))) > 0


def test_decision_on_a_production_trace_agrees(tmp_path: Path) -> None:
    assert agree(snapshot_at(LOADS[1], tmp_path)) > 0


def test_redaction_is_idempotent() -> None:
    once = redact(corpus.snapshot()).snapshot
    again = redact(once)
    assert again.snapshot == once
    assert again.names == {}


def test_invalid_snapshot_is_not_redacted() -> None:
    with pytest.raises(SnapshotValidationError, match="now: is required"):
        redact(ClusterSnapshot(cluster_id="c"))
