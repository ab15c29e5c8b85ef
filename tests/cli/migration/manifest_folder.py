"""Manifests in a folder, and the result of their migration."""

from collections.abc import Mapping
from pathlib import Path

from tenure.cli.migration import Plan, Status, plan_migration


def plan_of(folder: Path, files: Mapping[str, str], **given: int) -> Plan:
    """Return the plan for a folder with these files, without changing the files."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return plan_migration(folder, given)


def migrated_text(plan: Plan) -> str:
    """Return the migrated text of the only file of a plan."""
    (file,) = plan.files
    return file.mark + file.after


def plan_statuses(plan: Plan) -> list[Status]:
    """Return the statuses of the objects of a plan, in order."""
    return [finding.status for finding in plan.findings]
