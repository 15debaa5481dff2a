"""What all connections share: the handlers, the queues, and whether new work is taken.

The daemon's own handlers are there from the start; requests to the application wait until it is open.
"""

import asyncio
from collections.abc import Mapping

from resumed.daemon.rpc.application import Handler
from resumed.daemon.rpc.queues import KeyedQueues
from resumed.protocol.daemon import InitializeResult
from resumed.protocol.errors import ErrorCode, ResumedError


class Router:
    """Finds the handler of a method. `introduction` is the answer to `resumed/initialize`."""

    def __init__(self, introduction: InitializeResult, own: Mapping[str, Handler]) -> None:
        self.introduction = introduction
        self.queues = KeyedQueues()
        self.draining = False
        self._own = own
        self._opened = asyncio.Event()
        self._handlers: Mapping[str, Handler] = {}
        self._failure = ""

    def open(self, handlers: Mapping[str, Handler]) -> None:
        """Let requests through to the application."""
        self._handlers = handlers
        self._opened.set()

    def fail(self, sentence: str) -> None:
        """Answer every request to the application with this sentence: it could not be opened."""
        self._failure = sentence
        self._opened.set()

    async def handler(self, name: str) -> Handler:
        """Return a method's handler, waiting for the application if it is one of its.

        Raises `ResumedError` when the application could not be opened or lacks the method.
        """
        if (own := self._own.get(name)) is not None:
            return own
        await self._opened.wait()
        if self._failure:
            raise ResumedError(ErrorCode.INTERNAL_ERROR, self._failure, "The daemon's log has the details.")
        if name not in self._handlers:
            raise ResumedError(ErrorCode.METHOD_NOT_FOUND, f"{name} is not served.", "Update the daemon.")
        return self._handlers[name]
