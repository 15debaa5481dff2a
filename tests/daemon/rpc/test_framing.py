import asyncio

import pytest

from resumed.daemon.rpc.framing import (
    FrameReader,
    FrameTooLarge,
    Framing,
    FramingError,
    content_length,
    frame,
)


def stream(data: bytes) -> asyncio.StreamReader:
    """A stream that holds `data` and then ends."""
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return reader


async def bodies(data: bytes, limit: int = 1000) -> list[bytes]:
    """Every body in `data`."""
    frames = FrameReader(stream(data), limit)
    found = []
    while (message := await frames.read()) is not None:
        found.append(message.body)
    return found


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        b"CONTENT-LENGTH :   2  \r\n\r\n",
        b"X-Other: yes\r\nContent-Type: a/b; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
        b"Content-Length: 2\r\ncontent-length: 2\r\n\r\n",
    ],
)
async def test_headers_in_any_form(headers: bytes) -> None:
    assert await bodies(headers + b"{}" + headers + b"[]") == [b"{}", b"[]"]


@pytest.mark.parametrize(
    "data",
    [
        b"hello\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: two\r\n\r\n{}",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"Content-Type: text\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"X: " + b"x" * 17_000,
        b"\x00\xff\n\x00",
    ],
)
async def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        await bodies(data)


async def test_lines_and_headers_may_alternate_and_blanks_between_are_skipped() -> None:
    frames = FrameReader(stream(b'\n{"a":1}\r\n\r\nContent-Length: 3\r\n\r\n[1][2]\n'))
    seen = []
    while (message := await frames.read()) is not None:
        seen.append((message.body.strip(), message.framing))
        assert frames.framing is message.framing
    assert seen == [
        (b'{"a":1}', Framing.LINES),
        (b"[1]", Framing.HEADERS),
        (b"[2]", Framing.LINES),
    ]


@pytest.mark.parametrize("cut", range(1, 25))
async def test_a_stream_that_ends_inside_a_frame_just_ends(cut: int) -> None:
    whole = b"Content-Length: 5\r\n\r\n{1234"
    assert len(whole) == 26
    assert await bodies(whole[:-1][:cut]) == []
    assert await bodies(b'{"a": 1}'[: min(cut, 7)]) == []


async def test_a_frame_arrives_in_any_pieces() -> None:
    whole = b'Content-Length: 2\r\n\r\n{}{"b":2}\nContent-Length: 3\n\n[3]'
    reader = asyncio.StreamReader()
    frames = FrameReader(reader)
    reading = [asyncio.ensure_future(frames.read())]
    found = []
    for byte in whole:
        reader.feed_data(bytes([byte]))
        for _ in range(3):
            await asyncio.sleep(0)
        if reading[-1].done():
            found.append(reading[-1].result())
            reading.append(asyncio.ensure_future(frames.read()))
    reader.feed_eof()
    assert await reading[-1] is None
    assert [message and message.body for message in found] == [b"{}", b'{"b":2}', b"[3]"]


async def test_the_limit_is_the_body_s() -> None:
    assert await bodies(b"Content-Length: 10\r\n\r\n" + b"x" * 10, limit=10) == [b"x" * 10]
    assert await bodies(b"{" + b"x" * 9 + b"\n", limit=10) == [b"{" + b"x" * 9]
    with pytest.raises(FrameTooLarge):
        await bodies(b"Content-Length: 11\r\n\r\n", limit=10)
    with pytest.raises(FrameTooLarge):
        await bodies(b"{" + b"x" * 10 + b"\n", limit=10)
    with pytest.raises(FrameTooLarge):
        await bodies(b"{" + b"x" * 20, limit=10)


async def test_discard_reads_to_the_end() -> None:
    reader = stream(b"hello\n" + b"x" * 100_000)
    frames = FrameReader(reader)
    with pytest.raises(FramingError):
        await frames.read()
    await frames.discard()
    assert reader.at_eof()


def test_content_length_ignores_unknown_headers() -> None:
    assert content_length(b"A: 1\r\nContent-Length: 7\r\nB: 2") == 7


async def test_what_frame_makes_is_read_back() -> None:
    sent = frame(b"{}", Framing.HEADERS) + frame(b"[]", Framing.LINES)
    assert await bodies(sent) == [b"{}", b"[]"]
