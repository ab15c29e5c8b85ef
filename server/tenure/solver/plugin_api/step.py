"""Steps: what a cycle does one after the other, each described by one value. The only door of a feature.

A cycle opens a session, begins every step, runs every step, ends every step, and folds what was committed
into decisions. Actions are steps that run. A plugin that has to do something of its own in each cycle names a
step as the attribute `STEP` of its factory, such as one that places pods before the first action; it takes
part in every cycle of a profile that names the plugin.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from tenure.solver.plugin_api.action import ActionContext


class StepStart(Protocol):
    """The start of a cycle, as steps see it."""

    @property
    def context(self) -> ActionContext:
        """The cycle. Its session is opened when the first step reads this."""


class Step(NamedTuple):
    """One step of a cycle; None: nothing is done then.

    When the caller of the cycle waits no longer, a function ends, and the cycle goes on behind it.
    """

    name: str
    begin: Callable[[StepStart], None] | None = None
    """Called before the first action, in the order of the steps. May commit moves."""
    run: Callable[[ActionContext], None] | None = None
    """Called in the order of the steps, plugins before actions. May commit moves."""
    end: Callable[[ActionContext], None] | None = None
    """Called after the last action, in the order of the steps. May add wake times, and commits nothing."""
