"""The check `conformance-large` where it cannot run."""

import pytest
from tenure.process.version import is_compiled

from tests.checks import CannotRun
from tests.conformance.large.command import main


@pytest.mark.skipif(not is_compiled("tenure.solver.cycle"), reason="the solver is not compiled")
def test_compiled_solver_is_refused() -> None:
    with pytest.raises(CannotRun, match="compiled solver"):
        main()
