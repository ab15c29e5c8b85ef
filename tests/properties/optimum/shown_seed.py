"""The snapshot of one seed as a file that `tenure decide` reads, with the sets of victims as comments."""

from pathlib import Path

import yaml
from google.protobuf.json_format import MessageToDict
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.optimum.case import ENGINE
from tests.properties.optimum.cluster_facts import ClusterFacts
from tests.properties.optimum.gang_snapshots import CONSOLIDATION, action_of, gang_snapshot
from tests.properties.optimum.judged_choice import ChosenSet, Missed, choose, groups_of_gang
from tests.properties.optimum.least_moves import least_moves


def write_seed(seed: int, folder: Path, in_order: bool = True) -> Path:
    """Write the file of a seed. Returns its path."""
    snapshot, action = gang_snapshot(seed), action_of(seed)
    chosen = choose(ENGINE, snapshot, action, in_order)
    lines = [f"seed {seed}: tenure decide {seed}.yaml --action {action}"]
    if chosen is None:
        lines.append("the gang needs no victims, or has no legal ones")
    elif isinstance(chosen, Missed):
        lines += ["the gang does not start", _line("certified", chosen.victims)]
    else:
        lines += [_line("taken", chosen.taken), _line("fewest pods", chosen.fewest)]
        lines.append(_line("fewest GPUs", chosen.least_gpus))
        if chosen.better is not None:
            lines.append(_line("no worse in any measure and better in one", chosen.better))
        lines += [each for each in (chosen.refuted, *chosen.remarks) if each]
    return _write(folder / f"{seed}.yaml", snapshot, lines)


def write_moves(seed: int, folder: Path) -> Path:
    """Write the file of a seed for consolidation. Returns its path."""
    snapshot = gang_snapshot(seed, CONSOLIDATION)
    facts = ClusterFacts(snapshot, CONSOLIDATION)
    fewest = least_moves(facts, "pods")
    lines = [f"seed {seed}: tenure decide {CONSOLIDATION}-{seed}.yaml --action {CONSOLIDATION}"]
    for group in groups_of_gang(ENGINE, snapshot, CONSOLIDATION):
        for step in group.decisions:
            if step.HasField("reserve"):
                origin = facts.node_of.get(step.reserve.pod, "")
                lines.append(f"{step.reserve.pod} {origin} -> {step.reserve.node}".replace("  ", " "))
    lines.append(f"fewest: {' '.join(sorted(fewest or ())) or 'no moves suffice'}")
    return _write(folder / f"{CONSOLIDATION}-{seed}.yaml", snapshot, lines)


def _write(path: Path, snapshot: ClusterSnapshot, lines: list[str]) -> Path:
    rows = MessageToDict(snapshot, preserving_proto_field_name=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"# {line}\n" for line in lines) + yaml.safe_dump(rows, sort_keys=False))
    return path


def _line(name: str, found: ChosenSet) -> str:
    amounts = ", ".join(f"{amount} {measure}" for measure, amount in found.measures._asdict().items())
    return f"{name}: {' '.join(sorted(found.pods))} ({amounts})"
