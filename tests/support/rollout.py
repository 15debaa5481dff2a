"""Rollout lines written by hand, for what no recording has."""

import json

from resumed.daemon.agents.codex.translate import Translator
from resumed.restore.events.envelope import Event, Payload

OWN = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def line(kind: str, **payload: object) -> bytes:
    """A line whose payload is the type itself, for example `turn_context`."""
    written = {"timestamp": "2026-11-30T18:00:00.000Z", "type": kind, "payload": payload}
    return json.dumps(written).encode() + b"\n"


def event(kind: str, **payload: object) -> bytes:
    """An `event_msg` line."""
    return line("event_msg", type=kind, **payload)


def item(kind: str, **payload: object) -> bytes:
    """A `response_item` line."""
    return line("response_item", type=kind, **payload)


def meta(**payload: object) -> bytes:
    """A session's first line."""
    usual = {"id": OWN, "cwd": "/home/dev/repo", "cli_version": "0.171.0", "model_provider": "mock"}
    return line("session_meta", **{**usual, **payload})


def translated(*lines: bytes, name: str = "rollout.jsonl") -> list[Event]:
    """The events of these lines."""
    translator = Translator(name)
    events: list[Event] = []
    offset = 0
    for one in lines:
        events += translator.feed(one, offset)
        offset += len(one)
    return events


def payloads(*lines: bytes, of: type[Payload], name: str = "rollout.jsonl") -> list[Payload]:
    """The payloads of one type that these lines have, after a session's first line."""
    return [event.payload for event in translated(meta(), *lines, name=name) if isinstance(event.payload, of)]
