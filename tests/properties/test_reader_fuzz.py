"""Whatever happens to the bytes of a stream: good lines stay, loss is said in its types, files are left
as they are; and whatever arrives on a socket is a frame or a typed refusal."""

import asyncio
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resumed.daemon.rpc.framing import Frame, FrameReader, Framing, FramingError, frame
from resumed.daemon.storage.appender import Appender
from resumed.daemon.storage.codec import BadLine, checksum_of, decode, encode_as
from resumed.daemon.storage.errors import StateReadOnly
from resumed.daemon.storage.reader import Position, Reading
from resumed.daemon.storage.segments import segment_files, segment_path
from resumed.restore.events.envelope import Event, Unknown
from resumed.restore.events.journal import Segment
from tests.support.streams import TS, entry, line, meta, now, segment_line, stream_home, wrapped

FIXED = settings(derandomize=True, deadline=None, max_examples=300)
KINDS = {"firstLine", "badLine", "gap", "duplicate", "chain"}
LIMIT = 4096

Files = list[bytes]
Damage = Callable[[Files], Files]


def whole_stream() -> Files:
    """A stream of two files, with text of every sort."""
    texts = ["plain", "", 'é\u2028\x00\\"', "\udc80", "x" * 3000, "\r\n"]
    first = [encode_as(meta(event_id="meta"), 1, TS)]
    first += [encode_as(entry(text, f"e{n}"), n, TS) for n, text in enumerate(texts, 2)]
    second = [segment_line(8, 7, checksum_of(first[-1]))]
    second += [encode_as(entry(text, f"e{n}"), n, TS) for n, text in enumerate(texts, 9)]
    return [b"".join(first), b"".join(second)]


WHOLE = whole_stream()
NEWER = wrapped(Segment(schema_version=99, n=2, prev_seq=3, prev_crc="00000000", reason="x"), "newer")
PIECES = (
    b"\0" * 40, b"\n", b"\r\n", b"\xef\xbb\xbf", b"garbage\n", b'{"seq":1}\n', b"{" * 3000 + b"\n", b"[]\n",
    b"\x80\xff\n", line("another", 5), line("later", 40), encode_as(meta(event_id="second"), 1, TS),
    encode_as(wrapped(Unknown(type="of tomorrow", fields={"a": [1]}), "unknown"), 15, TS),
    encode_as(NEWER, 4, TS), segment_line(3, 2), line("huge", 1 << 62),
)  # fmt: skip
"""What may come to stand in a stream; some of it is whole lines with right checksums."""


def at(data: bytes, share: float) -> int:
    """A place in the bytes."""
    return int(share * len(data))


def flipped(data: bytes, share: float, mask: int) -> bytes:
    place = at(data, share)
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :] if place < len(data) else data


def cut_out(data: bytes, share: float, length: int) -> bytes:
    return data[: at(data, share)] + data[at(data, share) + length :]


def inserted(data: bytes, share: float, piece: bytes) -> bytes:
    return data[: at(data, share)] + piece + data[at(data, share) :]


def line_again(data: bytes, which: float, where: float) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    again = lines[min(int(which * len(lines)), len(lines) - 1)]
    lines.insert(int(where * len(lines)), again)
    return b"".join(lines)


def of_two_writers(data: bytes, share: float) -> bytes:
    """From a line on another writer's lines stand between, under the same numbers."""
    lines = data.splitlines(keepends=True)
    begin = int(share * len(lines))
    mixed = [
        part
        for n, each in enumerate(lines)
        for part in ((each, line(f"w{n}", n + 1)) if n >= begin else (each,))
    ]
    return b"".join(mixed)


def on_one_file(change: Callable[[bytes], bytes], last: bool) -> Damage:
    """Damage to the first or to the last file."""
    return lambda files: [*files[:-1], change(files[-1])] if last else [change(files[0]), *files[1:]]


SHARES = st.floats(0, 1, exclude_max=True)
CHANGES: st.SearchStrategy[Callable[[bytes], bytes]] = st.one_of(
    st.builds(lambda s, m: lambda data: flipped(data, s, m), SHARES, st.integers(1, 255)),
    st.builds(lambda s, n: lambda data: cut_out(data, s, n), SHARES, st.integers(1, 400)),
    st.builds(lambda s, p: lambda data: inserted(data, s, p), SHARES, st.sampled_from(PIECES)),
    st.builds(lambda s, p: lambda data: inserted(data, s, p), SHARES, st.binary(max_size=60)),
    st.builds(lambda a, b: lambda data: line_again(data, a, b), SHARES, SHARES),
    st.builds(lambda s: lambda data: of_two_writers(data, s), SHARES),
    st.builds(lambda s: lambda data: data[: at(data, s)], SHARES),
    st.just(lambda data: data.replace(b"\n", b"\r\n")),
    st.just(lambda data: b"\xef\xbb\xbf" + data),
    st.just(lambda data: b""),
)
DAMAGES = st.lists(st.builds(on_one_file, CHANGES, st.booleans()), min_size=1, max_size=4)


def as_left(damages: list[Damage], folder: Path) -> Path:
    """Write the damaged stream; returns its first file."""
    files = WHOLE
    for damage in damages:
        files = damage(files)
    first = stream_home(folder).first
    first.parent.mkdir(parents=True)
    for number, data in enumerate(files):
        segment_path(first, number).write_bytes(data)
    return first


def plainly_read(first: Path) -> tuple[list[Event], int]:
    """What the rules say is there, with every file held in memory at once; and how many are there again."""
    found: list[Event] = []
    again = 0
    for file in segment_files(first):
        for piece in file.path.read_bytes().split(b"\n"):
            event = decode(piece, file.version)
            if isinstance(event, BadLine):
                continue
            last = found[-1].seq if found else 0
            if file.through is not None and (event.seq > file.through or last >= file.through):
                break
            if event.seq > last:
                found.append(event)
            else:
                again += 1
    return found, again


def content(first: Path) -> dict[str, bytes]:
    """Every file beside the first, by name."""
    return {path.name: path.read_bytes() for path in first.parent.iterdir()}


@FIXED
@given(DAMAGES)
def test_whatever_happens_to_the_bytes_good_lines_stay_and_loss_is_said(damages: list[Damage]) -> None:
    with TemporaryDirectory() as folder:
        first = as_left(damages, Path(folder))
        before = content(first)
        reading = Reading(first)
        events = list(reading)
        expected, again = plainly_read(first)
        assert events == expected
        assert [damage.kind for damage in reading.damage].count("duplicate") == again
        assert {damage.kind for damage in reading.damage} <= KINDS
        assert all(damage.sentence and damage.file in before for damage in reading.damage)
        assert all(loose.file in before for loose in reading.trailing)
        seqs = [event.seq for event in events]
        assert seqs == sorted(set(seqs))
        if not reading.damage:
            assert seqs == list(range(1, len(seqs) + 1)), "something is missing, and nothing says so"
        assert content(first) == before


@FIXED
@given(DAMAGES)
def test_a_writer_goes_on_behind_any_damage_or_refuses_in_its_type(damages: list[Damage]) -> None:
    with TemporaryDirectory() as folder:
        home = stream_home(Path(folder))
        first = as_left(damages, Path(folder))
        before, events = content(first), list(Reading(first))
        try:
            appender = Appender.open(home, now)
        except StateReadOnly:
            assert content(first) == before
            return
        (outcome,) = appender.commit([(entry("new", "new"),)])
        appender.close()
        assert not isinstance(outcome, Exception), outcome
        after = content(first)
        assert all(after[name].startswith(data) for name, data in before.items())
        read = list(Reading(first))
        assert read[: len(events)] == events
        assert [event.event_id for event in read].count("new") == 1
        assert read[-1].seq == outcome[0].seq


@FIXED
@given(DAMAGES, st.integers(0, 13))
def test_going_on_from_a_position_in_a_damaged_stream_is_going_on_or_beginning_anew(
    damages: list[Damage], index: int
) -> None:
    with TemporaryDirectory() as intact, TemporaryDirectory() as folder:
        whole = Reading(as_left([list], Path(intact)))
        positions = [position for _ in whole if (position := whole.position)]
        since: Position = positions[index]
        reading = Reading(as_left(damages, Path(folder)), since)
        seqs = [event.seq for event in reading]
        assert seqs == sorted(set(seqs))
        assert reading.restarted or not seqs or seqs[0] > since.seq


@pytest.mark.parametrize("filling", [b"\0", b"x", b"{"])
def test_a_line_of_20_mb_costs_its_own_size_and_no_other_line(tmp_path: Path, filling: bytes) -> None:
    size = 20 << 20
    begin, rest = WHOLE[0].split(b"\n", 1)
    path = as_left([lambda files: [begin + b"\n" + filling * size + b"\n" + rest, files[1]]], tmp_path)
    tracemalloc.start()
    try:
        reading = Reading(path)
        count = sum(1 for _ in reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 14
    assert peak < 3 * size
    assert [(damage.kind, damage.length) for damage in reading.damage] == [("badLine", size)]


async def _frames(data: bytes, pieces: list[int]) -> list[Frame | str]:
    """What a reader makes of the bytes when they arrive in pieces of these lengths."""
    stream = asyncio.StreamReader()
    reader = FrameReader(stream, LIMIT)
    begin = 0
    for length in [*pieces, len(data)]:
        stream.feed_data(data[begin : begin + length])
        begin += length
    stream.feed_eof()
    found: list[Frame | str] = []
    try:
        while (each := await reader.read()) is not None:
            assert len(each.body) <= LIMIT
            found.append(each)
    except FramingError as refusal:
        found.append(type(refusal).__name__)
    return found


HEADERS = (
    b"Content-Length: 5\r\n\r\n",
    b"Content-Length: 99999\r\n\r\n",
    b"Content-Length: -1\r\n\r\n",
    b"X: y\n\n",
)
WIRE = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from((*HEADERS, b"{}\n", b"[1]\r\n", b"{" * 5000, b"\n", b"\0" * 9)),
    ),
    max_size=12,
).map(b"".join)


@FIXED
@given(WIRE, st.lists(st.integers(1, 30), max_size=20))
def test_whatever_arrives_is_frames_or_a_typed_refusal_in_any_pieces(data: bytes, pieces: list[int]) -> None:
    async def both() -> None:
        assert await _frames(data, pieces) == await _frames(data, [])

    asyncio.run(both())


@FIXED
@given(st.lists(st.binary(max_size=200), max_size=5), WIRE)
def test_frames_before_anything_strange_are_whole(bodies: list[bytes], strange: bytes) -> None:
    sent = b"".join(frame(body, Framing.HEADERS) for body in bodies)
    found = asyncio.run(_frames(sent + strange, []))
    assert [each.body for each in found[: len(bodies)] if isinstance(each, Frame)] == bodies
