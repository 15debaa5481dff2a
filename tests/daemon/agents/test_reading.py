"""Damage is passed over and told, a torn tail waits, and reading on gives what reading whole gives."""

import io
import json
from pathlib import Path

import pytest

from resumed.daemon.agents import reading
from resumed.daemon.agents.codex.store import CodexStore
from resumed.daemon.agents.reading import ForeignCursor, ForeignReading, prefix_hash
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import EntryAdded
from tests.support.codex import recording

NAME = "v171_on_request_two_turns"
LEGACY = "v104_compacted"


def read(path: Path, cursor: ForeignCursor | None = None) -> tuple[list[Event], ForeignReading]:
    pass_over = CodexStore(path.parent).read(path, cursor)
    return list(pass_over), pass_over


def written(tmp_path: Path, content: bytes, name: str = NAME) -> Path:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", [NAME, LEGACY])
def test_torn_at_every_byte_of_the_last_line(tmp_path: Path, name: str) -> None:
    content = recording(name).read_bytes()
    start = content.rindex(b"\n", 0, -1) + 1
    before, _ = read(written(tmp_path, content[:start], name))
    whole, _ = read(written(tmp_path, content, name))
    for end in range(start + 1, len(content) - 1):
        events, torn = read(written(tmp_path, content[:end], name))
        assert events == before
        length = "1 byte" if end == start + 1 else f"{end - start} bytes"
        assert torn.damage == (f"The last line is cut off after {length} (at byte {start}).",)
        assert (torn.offset, torn.skipped_lines) == (start, 0)
    events, unended = read(written(tmp_path, content[:-1], name))
    assert (events, unended.damage) == (whole, ())


def test_a_torn_tail_is_read_once_it_is_whole(tmp_path: Path) -> None:
    content = recording(LEGACY).read_bytes()
    whole, _ = read(written(tmp_path, content, LEGACY))
    first, torn = read(written(tmp_path, content[:-40], LEGACY))
    rest, _ = read(written(tmp_path, content, LEGACY), torn.cursor())
    assert first + rest == whole


@pytest.mark.parametrize("name", [NAME, LEGACY, "v171_forked", "v171_sigkill_then_resumed"])
def test_going_on_from_any_line_equals_reading_whole(tmp_path: Path, name: str) -> None:
    content = recording(name).read_bytes()
    whole, _ = read(written(tmp_path, content, name))
    end = 0
    for line in content.splitlines(keepends=True):
        end += len(line)
        first, part = read(written(tmp_path, content[:end], name))
        rest, _ = read(written(tmp_path, content, name), part.cursor())
        assert first + rest == whole


def test_nul_tail(tmp_path: Path) -> None:
    content = recording(NAME).read_bytes()
    whole, _ = read(written(tmp_path, content))
    events, tail = read(written(tmp_path, content + b"\0" * 4096))
    assert events == whole
    assert tail.damage == (f"The file ends in 4096 NUL bytes after byte {len(content)}.",)
    assert tail.offset == len(content)


@pytest.mark.parametrize(
    ("garbage", "sentence"),
    [
        (b"garbage\n", "Line 3 is not readable; it was passed over."),
        (b"\0\0\0\0\n", "Line 3 is only NUL bytes; it was passed over."),
        (b'{"timestamp":"x","ty\n', "Line 3 is cut off in the middle; it was passed over."),
        (b'{"type":[],"payload":{}}\n', "Line 3 has an unexpected form; it was passed over."),
    ],
)
def test_a_bad_line_in_the_middle(tmp_path: Path, garbage: bytes, sentence: str) -> None:
    lines = recording(NAME).read_bytes().splitlines(keepends=True)
    whole, _ = read(written(tmp_path, b"".join(lines)))
    events, damaged = read(written(tmp_path, b"".join([*lines[:2], garbage, *lines[2:]])))
    assert [event.payload for event in events if not isinstance(event.payload, EntryAdded)]
    assert [type(event.payload) for event in events] == [type(event.payload) for event in whole]
    assert (damaged.damage, damaged.skipped_lines) == ((sentence,), 1)


def test_a_half_line_does_not_hide_the_line_glued_to_it(tmp_path: Path) -> None:
    lines = recording(NAME).read_bytes().splitlines(keepends=True)
    whole, _ = read(written(tmp_path, b"".join(lines)))
    half = b'{"timestamp":"2026-11-30T18:35:17.7Z","ordinal":30,"type":"event_msg","payl'
    events, glued = read(written(tmp_path, b"".join([*lines[:30], half, *lines[30:]])))
    assert len(events) == len(whole)
    assert glued.damage == ("Line 31 is not readable; it was passed over.",)


def test_missing_and_repeated_ordinals(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in recording(NAME).read_bytes().splitlines()]
    whole, _ = read(recording(NAME))
    del lines[4]["ordinal"]
    lines[9]["ordinal"] = lines[8]["ordinal"]
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    events, reread = read(written(tmp_path, content))
    assert [type(event.payload) for event in events] == [type(event.payload) for event in whole]
    assert reread.damage == ()


def test_crlf_and_blank_lines(tmp_path: Path) -> None:
    content = recording(NAME).read_bytes()
    whole, _ = read(written(tmp_path, content))
    events, reread = read(written(tmp_path, content.replace(b"\n", b"\r\n") + b"\n  \n"))
    assert [type(event.payload) for event in events] == [type(event.payload) for event in whole]
    assert reread.damage == ()


def test_an_empty_file(tmp_path: Path) -> None:
    events, empty = read(written(tmp_path, b""))
    assert (events, empty.damage, empty.offset) == ([], (), 0)


def test_a_line_of_20_mb_is_read_and_its_body_is_not_kept(tmp_path: Path) -> None:
    line = json.dumps(
        {
            "timestamp": "2026-11-30T18:35:18.000Z",
            "type": "response_item",
            "payload": {"type": "message", "role": "assistant", "content": [{"text": "x" * 20_000_000}]},
        }
    )
    events, large = read(written(tmp_path, recording(NAME).read_bytes() + line.encode() + b"\n"))
    entry = events[-1].payload
    assert isinstance(entry, EntryAdded)
    assert (len(entry.text), large.damage) == (16 * 1024, ())


def test_a_line_over_the_limit_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 1 << 20)
    content = recording(NAME).read_bytes()
    whole, _ = read(written(tmp_path, content))
    long_line = b'{"type":"x","payload":"' + b"x" * (3 << 20) + b'"}\n'
    events, passed = read(written(tmp_path, long_line + content))
    assert [type(event.payload) for event in events] == [type(event.payload) for event in whole]
    assert passed.damage == ("Line 1 is longer than 1 MiB; it was passed over.",)
    assert passed.offset == len(long_line) + len(content)


def test_many_bad_lines_are_counted_not_listed(tmp_path: Path) -> None:
    events, damaged = read(written(tmp_path, b"bad\n" * 50))
    assert events == []
    assert damaged.skipped_lines == 50
    assert (len(damaged.damage), damaged.damage[-1]) == (21, "30 more lines cannot be read.")


def test_the_prefix_hash_tells_a_replaced_file() -> None:
    content = bytes(range(256)) * (12 << 10)
    length = 3_000_000

    def hashed(held: bytes, offset: int = length) -> str:
        return prefix_hash(lambda start: io.BytesIO(held[start:]), offset)

    whole = hashed(content)
    assert hashed(content + b"more") == whole
    assert hashed(content[:length] + b"other" * 1000) == whole
    for at in (0, 1_000_000, length - 60_000, length - 1):
        assert hashed(content[:at] + b"x" + content[at + 1 :]) != whole
    assert hashed(content, length - 1) != whole
    assert hashed(content[: length - 1]) != whole
