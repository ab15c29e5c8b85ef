"""What a page is rendered from: a view, a reader, and the parameters of the URL."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenure.console.access import Audience, Reader
from tenure.console.questions import Questions
from tenure.console.view import View
from tenure.console.watch import Watch
from tenure.console.workloads import WorkloadRow, workload


class NotFound(Exception):
    """The view does not have what the URL names. The message is for the reader."""


@dataclass(frozen=True)
class Request:
    """What a page is rendered from."""

    view: View
    reader: Reader
    query: Mapping[str, str]
    audience: Audience
    visible: frozenset[str] | None
    """Queues that the audience may see; None: all."""
    questions: Questions
    watch: Watch
    is_own: bool
    """Whether the request comes from a page of the console or from a person, not from another site."""

    @property
    def is_operator(self) -> bool:
        """Whether names of all are shown."""
        return self.audience is Audience.OPERATOR

    def text(self, name: str) -> str:
        """A parameter, cut to what a name can have."""
        return self.query.get(name, "")[:300]

    def number(self, name: str) -> int:
        """A parameter that is a number; 0 if it is not."""
        value = self.query.get(name, "")
        return int(value) if value.isdecimal() and value.isascii() and len(value) < 20 else 0

    def sees(self, row: WorkloadRow) -> bool:
        """Whether the audience may see a workload."""
        return self.visible is None or row.group.queue in self.visible

    def may_name(self, queue: str) -> bool:
        """Whether a queue may be named: those that are visible, and their ancestors."""
        visible = self.visible
        return visible is None or any(queue in self.view.path_of(each) for each in visible)

    def workload(self) -> WorkloadRow:
        """The workload that the URL names. Raises NotFound."""
        row = workload(self.view, self.text("uid"))
        if row is None or not self.sees(row):
            raise NotFound("There is no such workload now. It may have ended, or it was created again.")
        return row


Content = tuple[str, dict[str, Any]]
"""Name of a template, and its values."""
