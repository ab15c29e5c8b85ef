"""Kubernetes manifests from implicit to explicit preemptibility (semantics R1.80, R8.1 to R8.3)."""

from tenure.server.migrate.classes import OptionError, parse_options
from tenure.server.migrate.files import ManifestError
from tenure.server.migrate.finding import Finding, Status
from tenure.server.migrate.plan import Plan, plan_migration

__all__ = ["Finding", "ManifestError", "OptionError", "Plan", "Status", "parse_options", "plan_migration"]
