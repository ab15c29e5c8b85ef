"""Admission that refuses bindings of a story: by a policy, or by a webhook that does not respond."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from tenure.kubernetes.api.api_errors import ApiError, NotFound

from tests.child_processes import free_port
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.manifests import collection, create

_API: Final = "admissionregistration.k8s.io/v1"
_BINDINGS: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods/binding"],
}


@contextmanager
def refused_bindings(story: UserCluster, pod_prefix: str, message: str) -> Iterator[None]:
    """Refuse bindings of pods whose names begin with a prefix, for a reason, until the end of the context."""
    name = f"{story.namespace}-refused"
    rule = {"expression": f"!object.metadata.name.startsWith({pod_prefix!r})", "message": message}
    only_here = {"resourceRules": [_BINDINGS], "namespaceSelector": _selector(story)}
    policy = {"failurePolicy": "Fail", "matchConstraints": only_here, "validations": [rule]}
    denial = {"policyName": name, "validationActions": ["Deny"]}
    objects = [
        {"kind": "ValidatingAdmissionPolicy", "spec": policy},
        {"kind": "ValidatingAdmissionPolicyBinding", "spec": denial},
    ]
    with _in_effect(story, name, objects, pod_prefix, message):
        yield


@contextmanager
def unanswered_bindings(story: UserCluster) -> Iterator[None]:
    """Let bindings fail until the end of the context: their webhook is not there."""
    webhook = {
        "name": "bindings.webhook.test",
        "clientConfig": {"url": f"https://127.0.0.1:{free_port()}/"},
        "rules": [_BINDINGS],
        "namespaceSelector": _selector(story),
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    objects = [{"kind": "ValidatingWebhookConfiguration", "webhooks": [webhook]}]
    with _in_effect(story, f"{story.namespace}-unanswered", objects, "", "failed calling webhook"):
        yield


def _selector(story: UserCluster) -> dict[str, Any]:
    return {"matchLabels": {"kubernetes.io/metadata.name": story.namespace}}


@contextmanager
def _in_effect(
    story: UserCluster, name: str, objects: list[dict[str, Any]], pod_prefix: str, message: str
) -> Iterator[None]:
    """Create objects, and wait until the API server acts by them; delete them likewise."""
    made = [{"apiVersion": _API, "metadata": {"name": name}, **each} for each in objects]
    for item in made:
        create(story.transport, item)
    try:
        wait_until(lambda: message in _refusal(story, f"{pod_prefix}absent"))
        yield
    finally:
        for item in reversed(made):
            story.transport.delete(f"{collection(item, '')}/{name}")
        wait_until(lambda: message not in _refusal(story, f"{pod_prefix}absent"))


def _refusal(story: UserCluster, pod: str) -> str:
    """Why a binding of a pod that does not exist is refused; admission comes first."""
    binding = {"metadata": {"name": pod}, "target": {"kind": "Node", "name": "none"}}
    try:
        story.transport.post(f"{story.pods_path}/{pod}/binding", binding, {"dryRun": "All"})
    except NotFound:
        return ""
    except ApiError as refusal:
        return str(refusal)
    raise AssertionError("a pod that does not exist was bound")
