"""An agent that speaks to a daemon directly: it plays a script, then waits to be killed.

Run as `python agent_program.py SOCKET SCRIPT`. A script is a JSON list of `{"call": method, "params": …}`
and `{"write": path, "text": …}`. What each call was answered is a line on standard output; after the
last step comes the line `"ready"`. Only the standard library: any language could do the same.
"""

import json
import socket
import sys
import time
from pathlib import Path
from typing import Any, TextIO


class Connection:
    """One JSON message per line over the daemon's socket."""

    def __init__(self, path: str) -> None:
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        daemon.connect(path)
        self._stream: TextIO = daemon.makefile("rw", encoding="utf-8", newline="\n")
        self._sent = 0

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request; returns its result, or the error as `{"error": …}`."""
        self._sent += 1
        request = {"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params}
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        while True:
            answer: dict[str, Any] = json.loads(self._stream.readline())
            if answer.get("id") == self._sent:
                result: dict[str, Any] = (
                    answer["result"] if "result" in answer else {"error": answer["error"]}
                )
                return result


def main(path: str, script: str) -> None:
    """Play the script; the ids of the run and its turn are filled in where a call needs them."""
    daemon = Connection(path)
    client = {"name": "mender", "version": "1.2"}
    daemon.call("resumed/initialize", {"protocolVersion": "1.0", "client": client})
    known: dict[str, Any] = {}
    for step in json.loads(Path(script).read_text(encoding="utf-8")):
        if "write" in step:
            Path(step["write"]).write_text(step["text"], encoding="utf-8")
            continue
        needed = {"sessionId", "turnId", "token"} if step["call"] == "turn/complete" else {"sessionId"}
        ids = {name: known[name] for name in needed & known.keys()}
        result = daemon.call(step["call"], ids | step["params"])
        known |= {name: result[name] for name in ("sessionId", "turnId", "token") if name in result}
        print(json.dumps(result), flush=True)
    print(json.dumps("ready"), flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main(*sys.argv[1:])
