"""The reason that a task of a case can never be placed, as a caller would set it in `blocked_reason`."""

import re

from tests.conformance.cases import Json
from tests.conformance.conversion.claims import claim_names, missing_claims

_HOOK = "AddVictimInvariantPrePredicateFn"
_TEXT = re.compile(r"always fails with '([^']+)'")
_TASK = re.compile(r"only for task ([\w.-]+)")


def find_blocked_reason(case: Json, task: Json) -> str:
    """Return the first reason; empty if there is none."""
    return next(iter(_reasons(case, task)), "")


def _reasons(case: Json, task: Json) -> list[str]:
    """All reasons of a task. No case contains volume claims; the predicates check them."""
    volumes = task.get("pvc_names", ()) if case["config"].get("predicates_loaded", True) else ()
    missing = [f'persistentvolumeclaim "{name}" not found' for name in volumes]
    if task.get("legacy_mig"):
        missing.append("it uses MIG slices in the way that came before strategies")
    missing += missing_claims(case, task)
    if claim_names(task) and not case["run"].get("dra_feature_enabled", True):
        missing.append("dynamic resource allocation is switched off")
    return missing + _failing_hook(case, task)


def _failing_hook(case: Json, task: Json) -> list[str]:
    """The message of a check that the test installs itself. The case lists the tasks that it rejects."""
    if not any(hook["call"] == _HOOK for hook in case.get("session_hooks") or ()):
        return []
    facts = " ".join(case["expected"]["facts"])
    is_meant = task["uid"] in _TASK.findall(facts)
    return _TEXT.findall(facts)[:1] if is_meant else []
