"""Reservation: planned starts of pod groups that wait, one feature with one door (semantics section 17)."""

from collections.abc import Mapping
from typing import ClassVar, Final, final

from tenure.solver.actions.cycle_context import in_cycle
from tenure.solver.actions.cycle_start import at_start
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.profile import Parsers
from tenure.solver.plugin_api.step import Step
from tenure.solver.reservations.keep import plan_starts
from tenure.solver.reservations.owner_starts import start_owners
from tenure.solver.reservations.plugin import make_reserved_capacity
from tenure.solver.reservations.settings import ARGUMENTS, DEFAULTS, NAME


@final
class ReservationPlugin:
    """Reserves capacity for pod groups that wait, and lends it to others meanwhile (semantics R17.3).

    In a session without planned starts its plugin has nothing to do; its step plans them in every cycle.
    """

    ARGUMENTS: ClassVar[Parsers] = ARGUMENTS
    DEFAULTS: ClassVar[Mapping[str, str]] = DEFAULTS
    STEP: ClassVar = Step(NAME, begin=at_start(start_owners), end=in_cycle(plan_starts))

    def __call__(self, context: PluginContext, arguments: Mapping[str, str]) -> object:
        """The plugin of a session."""
        return make_reserved_capacity(context, arguments)


RESERVATION: Final = ReservationPlugin()
