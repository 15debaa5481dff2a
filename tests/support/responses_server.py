"""A scripted model on loopback: the streaming Responses API, as far as Codex needs it for a turn.

Each request of a turn takes the next answer of the script, or the last one again. A request for
structured output (Codex has a title made for a thread) is not a turn's. What was asked is kept.
"""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 500},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 1020,
}


class ResponsesServer:
    """Serves `answers`, one text message for each model request. A context manager."""

    def __init__(self, answers: tuple[str, ...] = ("Done.",)) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answers = answers
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The base URL for a model provider."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "ResponsesServer":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)

    @property
    def turn_requests(self) -> list[dict[str, Any]]:
        """The requests that turns made."""
        return [request for request in self.requests if "format" not in (request.get("text") or {})]

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Keep the request; returns the events of its answer."""
        with self._lock:
            turns = len(self.turn_requests)
            self.requests.append(request)
            number, of_turn = len(self.requests), len(self.turn_requests) > turns
        text = self._answers[min(turns, len(self._answers) - 1)] if of_turn else '{"title": "Test"}'
        return _events(f"test_{number}", text)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle(self) -> None:
                with contextlib.suppress(ConnectionError):
                    super().handle()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                if not self.path.endswith("/responses"):
                    self._reply(404, "application/json", b"{}")
                    return
                events = owner.answer(json.loads(body))
                stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
                self._reply(200, "text/event-stream", stream.encode())

            def do_GET(self) -> None:
                self._reply(404, "application/json", b"{}")

            def log_message(self, format: str, *arguments: object) -> None:
                pass

            def _reply(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


def _events(response_id: str, text: str) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"type": "message", "id": f"msg_{response_id}", "role": "assistant", "status": "completed"}
    return [
        {"type": "response.created", "response": {"id": response_id}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "content": content}},
        {"type": "response.completed", "response": {"id": response_id, "usage": _USAGE}},
    ]
