"""For every YAML style of a manifest, migration adds one value and changes nothing else."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tenure.cli.migration import Status
from tenure.cli.migration.assess import ManifestAssessor
from tenure.cli.migration.edits import Layout, apply_edits
from tenure.cli.migration.parsing import parse_json, parse_yaml
from tenure.cli.migration.priority_classes import PriorityClasses
from tenure.cli.migration.workload_kinds import objects_in
from tenure.codec.annotations import PREEMPTIBILITY

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
KEYS = st.from_regex(r"[a-z][a-z0-9./-]{0,14}", fullmatch=True)
LABELS = st.dictionaries(KEYS, NAMES, max_size=3)
YAML_STYLES = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([True, False, None]),
        "indent": st.integers(2, 6),
        "width": st.sampled_from([20, 80]),
        "allow_unicode": st.booleans(),
        "sort_keys": st.booleans(),
        "default_style": st.sampled_from([None, '"', "'"]),
    }
)
JSON_STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 1, 4, "\t"]),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
        "ensure_ascii": st.booleans(),
    }
)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, object]:
    metadata: dict[str, object] = {"name": draw(NAMES), "annotations": draw(LABELS)}
    if draw(st.booleans()):
        metadata["labels"] = draw(LABELS)
    spec = {"note": draw(NAMES), "priorityClassName": "train", "containers": [{"name": draw(NAMES)}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def migrate_text(text: str, is_json: bool) -> tuple[str, list[Status]]:
    objects = list(objects_in((parse_json if is_json else parse_yaml)(text)))
    judge = ManifestAssessor("m", Layout(text), PriorityClasses(objects, {}))
    judged = [judgement for each in objects if (judgement := judge.assess(each))]
    return apply_edits(text, [edit for _, edit in judged if edit]), [found.status for found, _ in judged]


@settings(max_examples=200, derandomize=True, database=None, deadline=None)
@given(pods(), st.one_of(YAML_STYLES, JSON_STYLES))
@pytest.mark.long
def test_only_the_value_is_added_in_any_style(pod: dict[str, object], style: dict[str, object]) -> None:
    is_json = "separators" in style
    text = json.dumps(pod, **style) if is_json else yaml.safe_dump(pod, **style)  # type: ignore[arg-type]
    load = json.loads if is_json else yaml.safe_load
    changed, first = migrate_text(text, is_json)
    expected = load(text)
    expected["metadata"].setdefault("labels", {})[PREEMPTIBILITY] = "preemptible"
    assert first == [Status.CHANGED]
    assert load(changed) == expected
    assert migrate_text(changed, is_json) == (changed, [Status.EXPLICIT])
