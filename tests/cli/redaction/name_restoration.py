"""Responses to redacted snapshots, with the original names restored."""

import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from tenure.cli.redaction import redact
from tenure.codec.engine import Engine
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest, DecideResponse
from tenure.v1.snapshot_pb2 import ClusterSnapshot

ENGINE = Engine(default_profile())


def decide_redacted(snapshot: ClusterSnapshot) -> tuple[DecideResponse, Any, Any]:
    """Return the response to a snapshot, its document, and the redacted document with the original names."""
    redacted = redact(snapshot)
    plain, hidden = _decide(snapshot), _decide(redacted.snapshot)
    return plain, MessageToDict(plain), restore_names(MessageToDict(hidden), redacted.names)


def restore_names(document: Any, names: Mapping[str, Mapping[str, str]]) -> Any:
    """Replace every new name by the original name, in sentences too."""
    old = {new: name for of_kind in names.values() for new, name in of_kind.items()}
    longest_first = sorted(old, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])")
    return _map_strings(document, lambda text: pattern.sub(lambda found: old[found[0]], text))


def _decide(snapshot: ClusterSnapshot) -> DecideResponse:
    """Decide and clear the decision ids, which are digests of names."""
    answer = ENGINE.decide(DecideRequest(snapshot=snapshot)).parse()
    for group in answer.groups:
        group.id = ""
        for decision in group.decisions:
            decision.id = ""
    return answer


def _map_strings(document: Any, change: Any) -> Any:
    if isinstance(document, str):
        return change(document)
    if isinstance(document, list):
        return [_map_strings(each, change) for each in document]
    if isinstance(document, dict):
        return {_map_strings(key, change): _map_strings(value, change) for key, value in document.items()}
    return document
