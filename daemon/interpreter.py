"""How the interpreter is set where an event loop has to keep turning beside threads that compute."""

import contextlib
import gc
import sys
from collections.abc import Iterator

TURN_SECONDS = 0.001


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import what stays as long as the process: no garbage is looked for meanwhile, and never in that again.

    One look at all that the language server's libraries make stops every thread for 40 ms."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def take_short_turns() -> None:
    """Let a thread that computes give way to the event loop sooner than after the usual 5 ms."""
    sys.setswitchinterval(TURN_SECONDS)
