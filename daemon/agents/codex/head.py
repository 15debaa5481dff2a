"""What a list shows of a rollout: its first lines and its last ones, whatever lies between.

Bounded, so that thousands of files can be listed: the head ends at the first user message or at
512 KiB, the tail is 64 KiB.
"""

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from resumed.daemon.agents.agent import ForeignHead
from resumed.daemon.agents.codex import lines
from resumed.daemon.agents.codex.emit import AGENT
from resumed.daemon.agents.codex.names import native_id_in, start_time_in
from resumed.daemon.agents.codex.translate import decode_payload
from resumed.daemon.agents.identity import imported_thread_id
from resumed.daemon.agents.reading import UnreadableLine, reason_of

_HEAD = 512 * 1024
_TAIL = 64 * 1024
_NAME_LENGTH = 80
_REQUEST_MARK = "## My request for Codex:"
_BEGIN, _END = ("task_started", "turn_started"), ("task_complete", "turn_complete", "turn_aborted")


class _Beginning(msgspec.Struct):
    meta: lines.SessionMetaLine | None = None
    name: str = ""
    problem: str | None = None


class _TailPayload(msgspec.Struct):
    type: str = ""
    call_id: str | None = None


class _TailLine(msgspec.Struct):
    timestamp: str = ""
    payload: _TailPayload = msgspec.field(default_factory=_TailPayload)


_tail_decoder = msgspec.json.Decoder(_TailLine)


class _Ending(msgspec.Struct):
    last_at: str = ""
    open: bool = False
    problem: str | None = None


def read_head(path: Path, source: BinaryIO, archived: bool) -> ForeignHead:
    """The row of one rollout. `source` is at its beginning; a first line that cannot be read leaves
    what the file's name says, and why. Raises `OSError` if not even that line can be had."""
    beginning = _read_beginning(source, native_id_in(path.name))
    try:
        ending = _read_ending(source)
    except OSError as error:
        ending = _Ending(problem=f"The file cannot be read to its end: {reason_of(error)}.")
    return _head(path, beginning, ending, archived)


def unread_head(path: Path, error: OSError, archived: bool) -> ForeignHead:
    """The row of a rollout that cannot be read, from the file's name."""
    problem = f"The file cannot be read: {reason_of(error)}; this comes from the file's name."
    return _head(path, _Beginning(), _Ending(problem=problem), archived)


def _head(path: Path, beginning: _Beginning, ending: _Ending, archived: bool) -> ForeignHead:
    file_id = native_id_in(path.name)
    meta = beginning.meta or lines.SessionMetaLine(id=file_id or path.name.split(".")[0])
    git = meta.git or lines.Git()
    modified_at = _rfc3339(os.lstat(path).st_mtime)
    started_at = start_time_in(path.name)
    created_at = meta.timestamp or (_rfc3339(started_at.timestamp()) if started_at else modified_at)
    forked_from = meta.forked_from_id
    return ForeignHead(
        path=str(path),
        native_id=meta.id,
        thread_id=imported_thread_id(AGENT, meta.id),
        name=beginning.name,
        cwd=meta.cwd,
        branch=git.branch,
        sha=git.commit_hash,
        origin=git.repository_url,
        created_at=created_at,
        last_active_at=ending.last_at or modified_at,
        agent_version=meta.cli_version,
        state="interrupted" if ending.open else "idle",
        forked_from=imported_thread_id(AGENT, forked_from) if forked_from else None,
        archived=archived,
        damaged=ending.problem or beginning.problem,
        unread=ending.problem is not None,
    )


def one_line(text: str) -> str:
    """A message as a name: its first line of text, at most 80 characters. An editor's preamble
    before the person's own words is left out."""
    own = text.partition(_REQUEST_MARK)[2] or text
    words = " ".join(own.split())
    return words if len(words) <= _NAME_LENGTH else words[: _NAME_LENGTH - 1].rstrip() + "…"


def _read_beginning(source: BinaryIO, file_id: str | None) -> _Beginning:
    beginning = _Beginning()
    read = 0
    while read < _HEAD and not beginning.name:
        line = source.readline(_HEAD)
        if not line:
            break
        try:
            payload = decode_payload(line)
        except UnreadableLine as problem:
            if read == 0:
                beginning.problem = f"The first line {problem}; this comes from the file's name."
            payload = None
        read += len(line)
        match payload:
            case lines.SessionMetaLine() if beginning.meta is None and file_id in (None, payload.id):
                beginning.meta = payload
            case lines.UserMessageLine():
                beginning.name = one_line(payload.message)
            case lines.ItemCompletedLine() if payload.item.type == "UserMessage":
                beginning.name = one_line(" ".join(piece.text for piece in payload.item.content))
            case _:
                pass
    if beginning.meta is None and beginning.problem is None:
        missing = "The file does not begin with its session" if read else "The file is empty"
        beginning.problem = f"{missing}; this comes from the file's name."
    return beginning


def _read_ending(source: BinaryIO) -> _Ending:
    tail, whole = _plain_tail(source) if source.seekable() else _stream_tail(source)
    ending = _Ending(open=not whole)
    calls: set[str] = set()
    for line in _whole_lines(tail, whole):
        try:
            told = _tail_decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        ending.last_at = told.timestamp or ending.last_at
        kind, call_id = told.payload.type, told.payload.call_id
        if kind in _BEGIN or kind in _END:
            ending.open = kind in _BEGIN
            calls.clear()
        elif call_id is not None and kind.endswith("_call"):
            calls.add(call_id)
        elif call_id is not None and kind.endswith("_call_output"):
            calls.discard(call_id)
    ending.open = ending.open or bool(calls)
    return ending


def _plain_tail(source: BinaryIO) -> tuple[bytes, bool]:
    size = source.seek(0, os.SEEK_END)
    source.seek(max(0, size - _TAIL))
    return source.read(_TAIL), size <= _TAIL


def _stream_tail(source: BinaryIO) -> tuple[bytes, bool]:
    """The last bytes of a stream that can only be read on, from where its beginning was read."""
    tail = b"\n"
    while piece := source.read(_TAIL):
        tail = (tail + piece)[-_TAIL:]
    return tail, False


def _whole_lines(tail: bytes, whole: bool) -> Iterator[bytes]:
    """The lines of a tail, without the first one when it began before."""
    found = tail.split(b"\n")
    yield from found if whole else found[1:]


def _rfc3339(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
