"""Where the process starts: Ctrl-C ends it at once, without a traceback, while the commands are loaded."""

import signal


def main() -> None:
    """Load the commands, then run the one that the process was started with."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tenure.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    run()
