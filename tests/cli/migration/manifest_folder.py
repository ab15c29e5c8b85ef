"""Manifests in a folder, and what a migration makes of them."""

from collections.abc import Mapping
from pathlib import Path

from tenure.cli.migration import Plan, Status, plan_migration


def plan_of(folder: Path, files: Mapping[str, str], **given: int) -> Plan:
    """The plan for a folder with these files; nothing is written to them."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return plan_migration(folder, given)


def migrated_text(plan: Plan) -> str:
    """The text that the only file of a plan is to have."""
    (file,) = plan.files
    return file.mark + file.after


def plan_statuses(plan: Plan) -> list[Status]:
    """What becomes of the objects, in order."""
    return [finding.status for finding in plan.findings]
