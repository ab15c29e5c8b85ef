"""`kubectl tenure set`: what users may say about a workload, as annotations that Tenure reads."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import typer
from tenure.kubernetes.api.transport import MERGE_PATCH
from tenure.kubernetes.objects import names
from tenure.kubernetes.plugin.access import KubeApi, find_resource
from tenure.terms.annotations import annotation
from tenure.terms.durations import parse_duration
from tenure.terms.preemptibility import SPELLINGS, parse_preemptibility

PREEMPTIBILITY: Final = tuple(SPELLINGS.values())
SETTINGS: Final = {
    "preemptibility": names.PREEMPTIBILITY,
    "expected-runtime": names.EXPECTED_RUNTIME,
    "requeue-delay": names.REQUEUE_DELAY,
    "min-runtime": names.MIN_RUNTIME,
}
"""Annotations by setting."""
OF_QUEUES: Final = tuple(setting for setting in SETTINGS if annotation(setting).on_queue)
"""Settings that queues have too, for their workloads that set none."""
_WITH_ZERO: Final = ("requeue-delay",)
"""Settings of workloads that may be 0."""
REMOVE: Final = "-"
"""Value that removes a setting."""


def checked_value(setting: str, target: str, value: str) -> str:
    """The text of the annotation. Raises typer.BadParameter."""
    is_queue = _is_queue(target)
    if is_queue and setting not in OF_QUEUES:
        raise typer.BadParameter(f"queues have {' and '.join(OF_QUEUES)} only", param_hint="SETTING")
    if value == REMOVE:
        return value
    if setting == "preemptibility":
        mode = parse_preemptibility(value)
        if not mode:
            raise _invalid(f"{value!r} is not one of {', '.join(PREEMPTIBILITY)}")
        return SPELLINGS[mode]
    try:
        nanoseconds = parse_duration(value)
    except ValueError as error:
        raise _invalid(str(error)) from None
    if nanoseconds <= 0 and not is_queue and setting not in _WITH_ZERO:
        raise _invalid(f"{value!r} is not above zero; use {REMOVE} to remove it")
    return value


def _is_queue(target: str) -> bool:
    return target.partition("/")[0].lower().partition(".")[0] in ("queue", "queues")


def complete_value(context: typer.Context, incomplete: str) -> list[str]:
    """Values of the preemptibility that begin so; other settings have no list of values."""
    known = PREEMPTIBILITY if context.params.get("setting") == "preemptibility" else ()
    return [one for one in known if one.startswith(incomplete)]


def _invalid(problem: str) -> typer.BadParameter:
    return typer.BadParameter(problem, param_hint="VALUE")


def assign(api: KubeApi, setting: str, target: str, value: str, is_dry: bool) -> dict[str, Any]:
    """Set or remove an annotation; return kind, name and the annotation. Raises ApiError."""
    kind, _, name = target.partition("/")
    if not kind or not name:
        raise typer.BadParameter(f"{target!r} is not KIND/NAME, such as job/train", param_hint="KIND/NAME")
    version, resource = find_resource(api, kind.lower())
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = "" if _is_queue(target) else api.namespace
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    path = f"{base}{within}/{resource}/{quote(name, safe='')}"
    annotation, text = SETTINGS[setting], None if value == REMOVE else value
    body: dict[str, Any] = {"metadata": {"annotations": {annotation: text}}}
    there = api.read(path)
    if setting == "preemptibility" and (there.get("spec") or {}).get("preemptibility"):
        body["spec"] = {"preemptibility": None if text is None else _field_value(there, text)}
    query = {"dryRun": "All"} if is_dry else {}
    api.transport.patch(path, body, MERGE_PATCH, query)
    return {
        "kind": there.get("kind", kind),
        "namespace": namespace,
        "name": name,
        "annotation": annotation,
        "value": text,
        "dry_run": is_dry,
    }


def _field_value(there: Mapping[str, Any], text: str) -> str:
    """Value of the field, which precedes the annotation; KAI writes it in small letters."""
    is_small = str(there["spec"]["preemptibility"]).islower()
    return text.lower() if is_small else text
