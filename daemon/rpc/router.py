"""What all connections share: the handlers, the queues, and what new work is taken.

The daemon's own handlers are there from the start; requests to the application wait until it is open.
"""

import asyncio
from collections.abc import Mapping

from resumed.daemon.rpc.application import Handler
from resumed.daemon.rpc.queues import KeyedQueues
from resumed.protocol.daemon import InitializeResult
from resumed.protocol.errors import ErrorCode, ResumedError

_BEGINS_A_SESSION = frozenset({"session/start", "thread/resume"})


class Router:
    """Finds the handler of a method. `introduction` is the answer to `resumed/initialize`."""

    def __init__(self, introduction: InitializeResult, own: Mapping[str, Handler]) -> None:
        self.introduction = introduction
        self.queues = KeyedQueues()
        self.draining = False
        self.stopping = False
        self._own = own
        self._opened = asyncio.Event()
        self._handlers: Mapping[str, Handler] = {}
        self._failure: ResumedError | None = None

    def open(self, handlers: Mapping[str, Handler]) -> None:
        """Let requests through to the application."""
        self._handlers = handlers
        self._opened.set()

    def fail(self, refusal: ResumedError) -> None:
        """Answer every request to the application with this refusal: it could not be opened."""
        self._failure = refusal
        self._opened.set()

    def admit(self, name: str) -> None:
        """Let a method pass. Raises `ResumedError` `draining`: a daemon that drains takes no new sessions,
        one that stops takes nothing but what is about itself."""
        if self.stopping and not name.startswith("daemon/"):
            raise ResumedError(ErrorCode.DRAINING, "The daemon is about to exit.", "Connect again.")
        if self.draining and name in _BEGINS_A_SESSION:
            raise ResumedError(
                ErrorCode.DRAINING,
                "This daemon takes no new sessions: it is to be replaced.",
                "End the sessions that are open here, then connect again.",
            )

    async def handler(self, name: str) -> Handler:
        """Return a method's handler, waiting for the application if it is one of its.

        Raises `ResumedError` when the application could not be opened or lacks the method.
        """
        if (own := self._own.get(name)) is not None:
            return own
        await self._opened.wait()
        if (failure := self._failure) is not None:
            raise ResumedError(failure.code, failure.sentence, failure.data.hint)
        if name not in self._handlers:
            raise ResumedError(ErrorCode.METHOD_NOT_FOUND, f"{name} is not served.", "Update the daemon.")
        return self._handlers[name]
