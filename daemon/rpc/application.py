"""What the socket server needs of the application behind it, and what it gives to it.

The server starts before the application is imported, so only these names may be shared.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from resumed.daemon.rpc.connection import Client
from resumed.protocol.restore import Wire

Handler = Callable[[Client, Any], Awaitable[Wire]]


class StatusFields(msgspec.Struct, frozen=True, kw_only=True):
    """The application's part of `daemon/status`; the words are those of `StatusResult`."""

    threads: int = 0
    leases: int = 0
    open_questions: int = 0
    storage: str = "ok"
    index: str = "ok"
    notes: tuple[str, ...] = ()


class Broadcast(Protocol):
    """Sends a notification to every initialized client; call it on the event loop's thread."""

    def __call__(self, method: str, params: Wire, coalesce: str | None = None) -> None: ...


class Application(Protocol):
    """An opened workspace."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """A handler for each request of the table but `resumed/initialize`, `daemon/status`, `daemon/drain`.
        It gets the client and the params in their type, and returns the result in its."""

    def busy(self) -> bool:
        """Whether a lease or a question keeps the daemon from exiting when idle."""

    def outlived(self) -> bool:
        """Whether what it keeps was taken away under it, so that a new daemon is needed."""

    def status_fields(self) -> StatusFields:
        """Its part of the status; answered at once, after one glance at the state folder."""

    async def close(self) -> None:
        """Finish and release everything. No handler runs any more."""

    async def cut_off(self, unfinished: tuple[str, ...]) -> None:
        """Release everything while requests of these methods still run, which were cancelled in vain.
        What they began is left as after a crash, and the stop is not to be recorded as a clean one."""


class OpenApplication(Protocol):
    """Opens the workspace of a canonical root. `users_umask` is the one of whoever started the daemon: what
    is written for them, outside of our own state, is written under it."""

    async def __call__(self, root: str, broadcast: Broadcast, users_umask: int) -> Application: ...
