"""What the server and its solver processes tell each other, in this order.

    server                       process
    question     ──────────►
    STOP         ──────────►                 only when the answer is to come as soon as possible
                 ◄──────────     answer

The connection is a pipe to a process that this server started, so objects may travel pickled.
"""

from typing import Final, NamedTuple

from tenure.server.codec.violations import FieldViolation
from tenure.server.telemetry.timeline import Entry
from tenure.solver.framework.profile import Options, PluginSetting, Profile
from tenure.solver.model.cluster import Cluster

STOP: Final = None
"""In place of a question: stop searching, and answer with what is decided."""


class Question(NamedTuple):
    """A DecideRequest as bytes; with a state, the cluster and the header of its snapshot."""

    request: bytes
    seconds: float
    """How long the caller waits."""
    cluster: Cluster | None = None
    header: bytes = b""
    is_watched: bool = False
    """Whether somebody wants to see closely what happens in the cycle."""


class Answered(NamedTuple):
    """A DecideResponse as bytes, and what happened on the way to it."""

    response: bytes
    entries: list[Entry]
    decided: dict[tuple[str, int], str]
    """See Timeline."""


class Refused(NamedTuple):
    """The question is invalid."""

    violations: list[FieldViolation]


class Defect(NamedTuple):
    """The solver raised something nobody foresaw: the traceback as text, for the log."""

    traceback: str


Answer = Answered | Refused | Defect


class PlainProfile(NamedTuple):
    """A profile that can be pickled."""

    actions: tuple[str, ...]
    plugins: tuple[tuple[str, dict[str, str]], ...]
    options: Options

    @classmethod
    def of(cls, profile: Profile) -> "PlainProfile":
        """The same, plainly."""
        plugins = tuple((each.name, dict(each.arguments)) for each in profile.plugins)
        return cls(profile.actions, plugins, profile.options)

    def profile(self) -> Profile:
        """The profile again."""
        return Profile(self.actions, tuple(PluginSetting(*each) for each in self.plugins), self.options)
