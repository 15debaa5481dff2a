"""One connection to the workspace's daemon, one call, one answer.

The answer is kept as it came too: `--json` prints that, whatever this version of the program knows of it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from resumed.daemon.cli.failures import Failure
from resumed.daemon.connect import find_or_start
from resumed.daemon.rpc.client import Callbacks, Client, ConnectionLost
from resumed.daemon.runtime import log_hint, place_of
from resumed.daemon.version import VERSION
from resumed.protocol.converter import Malformed, to_json, to_type
from resumed.protocol.daemon import ClientCapabilities
from resumed.protocol.methods import REQUESTS
from resumed.protocol.restore import RestoreProgress, Wire

NAME = "resumed in a terminal"
_CONNECT_AT_MOST = 3


class Reply(NamedTuple):
    """A method's result: `plain` as it came, `value` in the table's type."""

    plain: Any
    value: Any


class Listener(NamedTuple):
    """What the client can do besides calling: answer questions, show progress."""

    callbacks: Callbacks = Callbacks()
    capabilities: ClientCapabilities = ClientCapabilities()


def call(root: Path, method: str, params: Wire, listener: Listener | None = None) -> Reply:
    """Call a method of the daemon of `root`, which is started if need be.

    Raises `ResumedError` for a refusal, `Failure` when the daemon can't be talked to.
    """
    return asyncio.run(_call(root, method, params, listener or Listener()))


def json_text(reply: Reply) -> str:
    """The result as a program gets it, indented."""
    return msgspec.json.format(to_json(reply.plain), indent=2).decode()


def on_progress(show: Callable[[RestoreProgress], None]) -> Callable[[str, Wire], None]:
    """A notification callback that passes on the steps of a restore."""

    def notified(method: str, params: Wire) -> None:
        if isinstance(params, RestoreProgress):
            show(params)

    return notified


async def _call(root: Path, method: str, params: Wire, listener: Listener) -> Reply:
    expected = REQUESTS[method].result
    assert expected is not None
    try:
        async with await _connect(root, listener.callbacks) as client:
            await client.initialize(NAME, VERSION, listener.capabilities)
            plain = await client.call_plain(method, params)
        return Reply(plain, to_type(plain, expected))
    except ConnectionLost as error:
        hint = f"Try again. {log_hint(place_of(root).log)}"
        raise Failure("The background process went away before it answered.", hint) from error
    except Malformed as error:
        raise Failure(f"The background process answered with something else: {error}.") from error


async def _connect(root: Path, callbacks: Callbacks) -> Client:
    """Connect to the daemon; one that ends just now is started again."""
    for attempt in range(_CONNECT_AT_MOST):
        socket = find_or_start(root)
        try:
            return await Client.connect(socket, callbacks)
        except OSError as error:
            if attempt == _CONNECT_AT_MOST - 1:
                raise Failure(f"The background process can't be reached: {error}.") from error
    raise AssertionError("unreachable")
