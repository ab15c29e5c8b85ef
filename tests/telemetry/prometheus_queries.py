"""Prometheus queries of the shipped dashboard and alerts."""

import json
import re
from typing import Final, NamedTuple

import yaml

from tests.telemetry.external_programs import FILES

_NAME: Final = re.compile(r"\b((?:tenure|kai_scheduler|process|up)(?:_\w+)?)\b(\{[^}]*\})?")
_BY: Final = re.compile(r"\bby \(([^)]*)\)")
_LABEL: Final = re.compile(r"(\w+)\s*=~?\s*\"")
_SHOWN: Final = re.compile(r"\{\{\s*\$?(?:labels\.)?(\w+)\s*\}\}")
_VARIABLES: Final = {"$__rate_interval": "5m", "$cluster": "c", "$node_pool": "p"}
SCRAPED: Final = {"up": {"job", "instance"}}
"""Series that Prometheus creates itself."""


class PrometheusQuery(NamedTuple):
    """An expression, and the labels that its panel or alert shows."""

    location: str
    expression: str
    shown_labels: frozenset[str]

    def metrics(self) -> dict[str, set[str]]:
        """Return every queried metric with its queried labels."""
        grouped = {label.strip() for by in _BY.findall(self.expression) for label in by.split(",")}
        found: dict[str, set[str]] = {}
        for name, selector in _NAME.findall(_BY.sub("", self.expression)):
            found.setdefault(name, set(grouped)).update(_LABEL.findall(selector))
        return found


def dashboard() -> list[PrometheusQuery]:
    panels = json.loads((FILES / "grafana" / "tenure.json").read_text())["panels"]
    return [
        PrometheusQuery(
            panel["title"], _filled(target["expr"]), frozenset(_SHOWN.findall(target["legendFormat"]))
        )
        for panel in panels
        for target in panel.get("targets", ())
    ]


def alerts() -> list[PrometheusQuery]:
    (group,) = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    return [
        PrometheusQuery(
            rule["alert"], rule["expr"], frozenset(_SHOWN.findall(str(rule["annotations"]))) - {"value"}
        )
        for rule in group["rules"]
    ]


def _filled(expression: str) -> str:
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression
