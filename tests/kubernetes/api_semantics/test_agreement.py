"""The fake API server and a real one return the same responses, objects and events for random requests."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.kubernetes.api_semantics.raw_client import ClientNamespace, Item, RawClient, RawResponse
from tests.kubernetes.fake_api_server.server import run_fake_api_server

_STEPS: Final = 250
_NAMES: Final = "ab"
_TIMES: Final = ("lastTransitionTime", "lastProbeTime")


class BothServers(NamedTuple):
    """A namespace on both servers."""

    fake: ClientNamespace
    real: ClientNamespace


@pytest.fixture
def both(raw_client: RawClient, tmp_path: Path) -> Iterator[BothServers]:
    with run_fake_api_server(tmp_path) as fake, closing(RawClient(fake.url)) as asker_of_fake:
        yield BothServers(ClientNamespace(asker_of_fake), ClientNamespace(raw_client))


class RandomRequest:
    """A random request that can be sent to several servers."""

    def __init__(self, chosen: random.Random) -> None:
        self.name = chosen.choice(_NAMES)
        self._uid, self._version = (chosen.choice(("", "", "", "its", "its", "another")) for _ in range(2))
        self._chosen = chosen.random()
        self._small = chosen.randrange(4)
        self._ask = chosen.choice(_REQUESTS)

    def __call__(self, place: ClientNamespace) -> RawResponse:
        return self._ask(self, place)

    def __repr__(self) -> str:
        chosen = f"uid={self._uid!r} version={self._version!r} small={self._small} {self._chosen:.2f}"
        return f"{self._ask.__name__}({self.name}, {chosen})"

    def path(self, place: ClientNamespace) -> str:
        return f"{place.pods}/{self.name}"

    def fence(self, place: ClientNamespace, collection: str) -> dict[str, str]:
        """Return the uid and version preconditions of the request, if any."""
        came = place.client.get(f"{collection}/{self.name}").body.get("metadata", {})
        asked = {"uid": self._uid, "resourceVersion": self._version}
        its = {field: came.get(field, "1") if kind == "its" else "1" for field, kind in asked.items()}
        return {field: text for field, text in its.items() if asked[field]}

    def create(self, place: ClientNamespace) -> RawResponse:
        containers = [{"name": "main", "image": "none"}]
        spec: Item = {"containers": containers, "terminationGracePeriodSeconds": 3000}
        if self._small == 0:
            spec["schedulingGates"] = [{"name": "wait"}]
        meta: Item = {"name": self.name, "labels": {"app": "xxxy"[self._small]}}
        if self._small == 1:
            meta["finalizers"] = ["example.com/keep"]
        return place.client.request("POST", place.pods, {"metadata": meta, "spec": spec})

    def bind(self, place: ClientNamespace) -> RawResponse:
        return place.bind(self.name, f"n{self._small}", **self.fence(place, place.pods))

    def run(self, place: ClientNamespace) -> RawResponse:
        phase = ("Running", "Running", "Running", "Failed")[self._small]
        ready = {"type": "Ready", "status": str(self._chosen < 0.8)}
        status = {"phase": phase, "conditions": [ready]}
        body = {"metadata": self.fence(place, place.pods), "status": status}
        return place.client.merge(f"{self.path(place)}/status", body)

    def evict(self, place: ClientNamespace) -> RawResponse:
        return place.evict(self.name, dry=self._small == 0, **self.fence(place, place.pods))

    def delete(self, place: ClientNamespace) -> RawResponse:
        options: Item = {"preconditions": self.fence(place, place.pods)}
        if self._small:
            options["gracePeriodSeconds"] = (0, 2000, 6000)[self._small - 1]
        return place.client.request("DELETE", self.path(place), options)

    def label(self, place: ClientNamespace) -> RawResponse:
        labels = {"l": None if self._small == 0 else str(self._small), "app": "xxxy"[self._small]}
        return place.client.merge(
            self.path(place), {"metadata": {**self.fence(place, place.pods), "labels": labels}}
        )

    def remove_finalizer(self, place: ClientNamespace) -> RawResponse:
        return place.client.merge(self.path(place), {"metadata": {"finalizers": None}})

    def write_status(self, place: ClientNamespace) -> RawResponse:
        fields = {"type": f"T{self._small % 2}", "status": "True", "reason": f"R{self._small}"}
        condition = {**fields, "lastTransitionTime": "2027-01-01T00:00:00Z"}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name, **self.fence(place, place.pods)},
            "status": {"conditions": [condition]},
        }
        return self._apply(place, f"{self.path(place)}/status", body)

    def add_finalizer(self, place: ClientNamespace) -> RawResponse:
        """Create or replace a ConfigMap."""
        body = {"metadata": {"name": self.name}, "data": {f"k{self._small}": "kept"}}
        if self._chosen < 0.3:
            return place.client.request("POST", place.maps, body)
        body["metadata"] |= self.fence(place, place.maps)
        return place.client.request("PUT", f"{place.maps}/{self.name}", body)

    def apply(self, place: ClientNamespace) -> RawResponse:
        data = {f"k{i}": str(self._small) for i in range(3) if int(self._chosen * 8) >> i & 1}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": self.name, **self.fence(place, place.maps)},
            "data": data,
        }
        return self._apply(place, f"{place.maps}/{self.name}", body)

    def set_disruptions(self, place: ClientNamespace) -> RawResponse:
        """Create a disruption budget, set its status, or delete it."""
        path = f"{place.budgets}/{self.name}"
        if self._small == 0:
            spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
            return place.client.request(
                "POST", place.budgets, {"metadata": {"name": self.name}, "spec": spec}
            )
        if self._small == 1 and self._chosen < 0.5:
            return place.client.request("DELETE", path)
        counts = {"currentHealthy": self._small, "desiredHealthy": 2, "expectedPods": 2}
        allowed = int(self._chosen * 2)
        status = {"observedGeneration": 1, "disruptionsAllowed": allowed, "disruptedPods": None, **counts}
        return place.client.merge(f"{path}/status", {"status": status})

    def _apply(self, place: ClientNamespace, path: str, body: Item) -> RawResponse:
        query = {"force": "true"} if self._chosen < 0.4 else {}
        return place.client.apply(path, f"manager-{self._small % 2}", body, **query)


_REQUESTS: Final[tuple[Callable[[RandomRequest, ClientNamespace], RawResponse], ...]] = (
    *(RandomRequest.create, RandomRequest.bind, RandomRequest.run) * 3,
    *(RandomRequest.evict, RandomRequest.set_disruptions) * 3,
    *(
        RandomRequest.delete,
        RandomRequest.label,
        RandomRequest.remove_finalizer,
        RandomRequest.write_status,
        RandomRequest.add_finalizer,
        RandomRequest.apply,
    )
    * 2,
)


def comparable(item: Item) -> Item:
    """Return the comparable content of an object: everything except names and times of one server."""
    metadata, status = item["metadata"], dict(item.get("status", {}))
    known = ("name", "labels", "annotations", "finalizers", "generation", "deletionGracePeriodSeconds")
    shown = {key: metadata[key] for key in known if metadata.get(key)}
    spec = item.get("spec", {})
    conditions = [
        tuple(sorted((key, text) for key, text in one.items() if key not in _TIMES and text))
        for one in status.pop("conditions", [])
        if one["type"] != "DisruptionAllowed"
    ]
    disrupted = sorted(status.pop("disruptedPods", {}))
    asked = (spec.get("nodeName"), spec.get("schedulingGates"))
    return {
        "meta": shown,
        "asked": asked,
        "data": item.get("data") or None,
        "is": (status, conditions, disrupted),
    }


def all_objects(place: ClientNamespace) -> dict[str, Item]:
    collections = (place.pods, place.maps, place.budgets)
    items = [item for path in collections for item in place.client.get(path).body["items"]]
    return {
        f"{item['metadata']['name']} {sorted(comparable(item)['is'][0])}": comparable(item) for item in items
    }


def events(place: ClientNamespace, since: str) -> list[tuple[str, Any]]:
    """Return the events of a watch of the pods, up to a final one that is created to end it."""
    place.pod("last")
    with place.client.watch(place.pods, resourceVersion=since, timeoutSeconds="20") as stream:
        came = takewhile(lambda event: event["object"]["metadata"]["name"] != "last", stream)
        return [(event["type"], comparable(event["object"])) for event in came]


@pytest.mark.kube
@pytest.mark.parametrize("api_server", ["real"], indirect=True)
@pytest.mark.parametrize(("seed", "rare"), [(0, 429), (7, 500)])
def test_both_servers_return_the_same_responses_objects_and_events(
    both: BothServers, seed: int, rare: int
) -> None:
    chosen = random.Random(seed)
    since = [place.client.get(place.pods).version for place in both]
    statuses: set[int] = set()
    for number in range(_STEPS):
        step = RandomRequest(chosen)
        fake, real = (step(place) for place in both)
        difference = f"step {number}, {step}: {fake.body} but {real.body}"
        assert (fake.status, fake.body.get("reason")) == (real.status, real.body.get("reason")), difference
        assert fake.headers.get("Retry-After") == real.headers.get("Retry-After"), difference
        assert all_objects(both.fake) == all_objects(both.real), difference
        statuses.add(real.status)
    assert statuses >= {200, 201, 404, 409, 422, rare}
    event_lists = [events(place, version) for place, version in zip(both, since, strict=True)]
    assert event_lists[0] == event_lists[1]
