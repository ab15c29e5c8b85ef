"""Kubernetes manifests from implicit to explicit preemptibility (semantics R1.80, R8.1 to R8.3)."""

from tenure.cli.migration.findings import Finding, Status
from tenure.cli.migration.plan import ManifestError, Plan, plan_migration
from tenure.cli.migration.priority_classes import OptionError, parse_options

__all__ = ["Finding", "ManifestError", "OptionError", "Plan", "Status", "parse_options", "plan_migration"]
