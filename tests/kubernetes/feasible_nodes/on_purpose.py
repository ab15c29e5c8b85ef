"""Where Tenure has other nodes than kube-scheduler on purpose, each with its reason."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Final

from tests.kubernetes.feasible_nodes.generator import NAME_LABEL
from tests.kubernetes.feasible_nodes.kube_filters import Question

NAMESPACE_LABELS: Final = "labels of namespaces are not observed, apart from their names"
"""A pod affinity that depends on them blocks the pod; an anti-affinity is read as one for all namespaces; a
preference is left out."""
FOREIGN_TERMS: Final = "terms of pods count for no pods of other namespaces"
"""Otherwise any user of a namespace could keep all pods of others off the nodes of the own ones."""
OTHER_SCHEDULERS: Final = "preferences of pods of other schedulers are not observed"
REQUIRED_TERMS: Final = "a required affinity attracts no pods"
"""kube-scheduler gives it a weight of 1 for pods that it selects."""
TERMINATING: Final = "pods that terminate satisfy no required affinity"
"""What needs them would wait for them again as soon as they are gone."""

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_MARK: Final = "terminates"
_KINDS: Final = ("podAffinity", "podAntiAffinity")

Object = dict[str, Any]


def as_read(question: Question) -> tuple[Question | None, list[str]]:
    """The question as Tenure reads it, and why it is another one. None: the pod is refused."""
    if any(_by_labels(term) for term in _terms(question.pod, "podAffinity", _REQUIRED)):
        return None, [NAMESPACE_LABELS]
    changed, reasons = deepcopy(question), []
    for reason, edit in _EDITS.items():
        if edit(changed):
            reasons.append(reason)
    return (changed, reasons) if reasons else (question, [])


def _read_namespace_labels(question: Question) -> bool:
    found = False
    for pod in (question.pod, *question.pods):
        for term in filter(_by_labels, _terms(pod, "podAntiAffinity", _REQUIRED)):
            term["namespaceSelector"] = {}
            found = True
        for kind in _KINDS:
            terms = _terms(pod, kind, _PREFERRED)
            kept = [term for term in terms if not _by_labels(term["podAffinityTerm"])]
            found = found or kept != terms
            terms[:] = kept
    return found


def _drop_foreign_terms(question: Question) -> bool:
    own = question.pod["metadata"]["namespace"]
    return _drop(
        question, lambda pod: pod["metadata"]["namespace"] != own, ("podAntiAffinity", _REQUIRED)
    ) | (_drop_preferred(question, lambda pod: pod["metadata"]["namespace"] != own))


def _drop_other_schedulers(question: Question) -> bool:
    return _drop_preferred(question, lambda pod: pod["spec"]["schedulerName"] != "kai-scheduler")


def _leave_out_terminating(question: Question) -> bool:
    """Mark terminating pods, and let no required affinity of the asking pod select the mark."""
    terminating = [pod for pod in question.pods if "deletionTimestamp" in pod["metadata"]]
    terms = [term for term in _terms(question.pod, "podAffinity", _REQUIRED) if "labelSelector" in term]
    for pod in terminating if terms else ():
        pod["metadata"].setdefault("labels", {})[_MARK] = "true"
    for term in terms if terminating else ():
        selector = term["labelSelector"] = term["labelSelector"] or {}
        selector.setdefault("matchExpressions", []).append({"key": _MARK, "operator": "DoesNotExist"})
    return bool(terminating and terms)


def _drop_required_affinity(question: Question) -> bool:
    return _drop(question, lambda _: True, ("podAffinity", _REQUIRED))


def _drop_preferred(question: Question, concerns: Callable[[Object], bool]) -> bool:
    return _drop(question, concerns, *((kind, _PREFERRED) for kind in _KINDS))


def _drop(question: Question, concerns: Callable[[Object], bool], *where: tuple[str, str]) -> bool:
    """Drop terms of placed pods. Whether there were any."""
    found = False
    for pod in filter(concerns, question.pods):
        for kind, rule in where:
            terms = _terms(pod, kind, rule)
            found = found or bool(terms)
            terms.clear()
    return found


_EDITS: Final = {
    NAMESPACE_LABELS: _read_namespace_labels,
    FOREIGN_TERMS: _drop_foreign_terms,
    OTHER_SCHEDULERS: _drop_other_schedulers,
    REQUIRED_TERMS: _drop_required_affinity,
    TERMINATING: _leave_out_terminating,
}


def _terms(pod: Object, kind: str, rule: str) -> list[Object]:
    """The list of terms in the pod itself; a list that is not part of it if it has none."""
    terms: list[Object] = pod["spec"].get("affinity", {}).get(kind, {}).get(rule, [])
    return terms


def _by_labels(term: Object) -> bool:
    """Whether a term selects namespaces by other labels than their names."""
    selector: Object = term.get("namespaceSelector") or {}
    keys = {*selector.get("matchLabels", ()), *(one["key"] for one in selector.get("matchExpressions", ()))}
    return bool(keys - {NAME_LABEL})
