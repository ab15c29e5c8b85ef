"""A decision on a redacted snapshot is the decision on the snapshot itself, under other names."""

from pathlib import Path

import pytest
from tenure.client.columns import to_columns
from tenure.client.snapshot_file import read_snapshot
from tenure.server.codec.violations import InvalidSnapshot
from tenure.server.redact import redact
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.e2e.command import SAMPLE
from tests.e2e.test_openb import LOADS, snapshot_at
from tests.fuzz import corpus
from tests.properties.clusters import random_cluster
from tests.properties.draw import SeededDraw
from tests.redact.as_message import as_message
from tests.redact.restored import answers
from tests.redact.tricky import tricky_snapshot
from tests.states.made import made_snapshot

SEEDS = range(10)


def agree(snapshot: ClusterSnapshot) -> int:
    """The number of decided groups."""
    plain, expected, found = answers(snapshot)
    assert found == expected
    return len(plain.groups)


@pytest.mark.parametrize("decade", SEEDS)
def test_random_clusters(decade: int) -> None:
    seeds = range(10 * decade, 10 * decade + 10)
    assert sum(agree(as_message(random_cluster(SeededDraw(seed)))) for seed in seeds) > 0


@pytest.mark.parametrize("decade", SEEDS)
def test_awkward_names(decade: int) -> None:
    seeds = range(30 * decade, 30 * decade + 30)
    assert sum(agree(tricky_snapshot(SeededDraw(seed))) for seed in seeds) > 0


def test_rows_of_every_kind_as_messages_and_as_columns() -> None:
    snapshots = [made_snapshot(SeededDraw(seed), 4, 60) for seed in SEEDS]
    assert sum(map(agree, snapshots)) == sum(agree(to_columns(snapshot)) for snapshot in snapshots) > 0


def test_a_field_of_every_kind() -> None:
    agree(corpus.snapshot())


def test_the_sample() -> None:
    assert agree(read_snapshot(str(SAMPLE))) > 0


def test_a_production_trace(tmp_path: Path) -> None:
    assert agree(snapshot_at(LOADS[1], tmp_path)) > 0


def test_redacting_again_changes_nothing() -> None:
    once = redact(corpus.snapshot()).snapshot
    again = redact(once)
    assert again.snapshot == once
    assert again.names == {}


def test_a_snapshot_that_is_refused_is_not_redacted() -> None:
    with pytest.raises(InvalidSnapshot, match="now: is required"):
        redact(ClusterSnapshot(cluster_id="c"))
