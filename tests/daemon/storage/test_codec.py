"""One line per event: its exact bytes, its checksum, and what is refused in both directions."""

import gc
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.storage import codec
from resumed.daemon.storage.codec import BadLine, checksum_holds, checksum_of, decode, encode
from resumed.daemon.storage.errors import EventRefused
from resumed.restore.events import EVENT_TYPES
from resumed.restore.events.envelope import Event, Payload, Source, SourceKind, Unknown
from resumed.restore.events.journal import Note
from resumed.restore.events.session import EntryAdded, UsageRecorded
from resumed.restore.events.worktree import HumanSaved

FULL = Event(
    payload=HumanSaved(path="src/é.py", hash="ab", client="VS Code"),
    event_id="e-1",
    src=Source(SourceKind.ACP_LIVE, "acp:7"),
    seq=12,
    ts="2026-01-02T03:04:05.678Z",
    at="2026-01-02T03:04:05Z",
    turn="t",
    op="o",
    id="i",
    parent_id="p",
    after={"thread:x": 3},
    blobs=("b1", "b2"),
)


def sealed(body: str | bytes) -> bytes:
    """A line with the right checksum, whatever is in it; `body` lacks its closing brace."""
    raw = body.encode() if isinstance(body, str) else body
    return raw + b',"crc":"%08x"}' % zlib.crc32(raw)


def test_the_bytes_of_a_whole_envelope() -> None:
    body = (
        '{"seq":12,"ts":"2026-01-02T03:04:05.678Z","type":"human_saved","event_id":"e-1",'
        '"src":{"kind":"acp_live","ref":"acp:7"},"at":"2026-01-02T03:04:05Z","turn":"t","op":"o","id":"i",'
        '"parent_id":"p","after":{"thread:x":3},"blobs":["b1","b2"],'
        '"payload":{"path":"src/é.py","hash":"ab","client":"VS Code","formatter":null}'
    )
    assert encode(FULL) == sealed(body) + b"\n"
    assert decode(encode(FULL)) == FULL


def test_what_is_not_set_is_not_written() -> None:
    event = Event(payload=Note(kind="x", details={}), event_id="e", src=Source(SourceKind.HOOK, "h"))
    start = b'{"seq":0,"ts":"","type":"note","event_id":"e","src":{"kind":"hook","ref":"h"},"payload":{'
    assert encode(event).startswith(start)
    assert decode(encode(event)) == event


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n", b"\r"])
def test_the_line_end_is_not_part_of_it(ending: bytes) -> None:
    line = encode(FULL).rstrip(b"\n")
    assert decode(line + ending) == FULL
    assert checksum_of(line + ending) == line[-10:-2].decode()


def test_every_changed_byte_is_noticed() -> None:
    line = encode(FULL).rstrip(b"\n")
    for position in range(len(line)):
        changed = bytearray(line)
        changed[position] ^= 0x20
        assert isinstance(decode(bytes(changed)), BadLine), position


def test_every_shorter_line_is_bad() -> None:
    line = encode(FULL)
    for length in range(len(line) - 1):
        assert isinstance(decode(line[:length]), BadLine), length
    assert decode(line[:-1]) == FULL


def test_the_checksum_is_of_the_bytes_as_they_are() -> None:
    spaced = (
        '{ "seq": 1,\t"ts":"","type":"note","event_id":"e","src":{"ref":"r","kind":"hook"},"extra":1,'
        '"payload":{"kind":"x","details":{}}'
    )
    event = decode(sealed(spaced))
    assert isinstance(event, Event)
    assert event.payload == Note(kind="x", details={})
    upper = sealed(spaced)
    changed = upper[:-10] + upper[-10:-2].upper() + upper[-2:]
    assert changed == upper or not checksum_holds(changed)


def line_of(type_name: str, payload: str, kind: str = "direct") -> bytes:
    return sealed(
        f'{{"seq":1,"ts":"","type":"{type_name}","event_id":"e","src":{{"kind":"{kind}","ref":"r"}},'
        f'"payload":{payload}'
    )


def test_an_unknown_type_is_kept_and_written_again_as_it_is() -> None:
    line = line_of("moon_phase", '{"phase":"full","n":[1,null]}')
    event = decode(line)
    assert isinstance(event, Event)
    assert event.payload == Unknown(type="moon_phase", fields={"phase": "full", "n": [1, None]})
    assert encode(event) == line + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        line_of("note", '{"kind":"x"}'),
        line_of("note", '{"kind":7,"details":{}}'),
        line_of("note", "[]"),
        line_of("note", '{"kind":"\\udc80","details":[]}'),
        line_of("moon_phase", "[]"),
        line_of("note", '{"kind":"x","details":{}}', kind="DIRECT"),
        line_of("note", '{"kind":"x","details":{}}', kind="oracle"),
        sealed('{"seq":"1"'),
        sealed('{"seq":1,"ts":"","type":"note","event_id":"e","src":{"kind":"hook","ref":"r"}'),
        sealed("[1"),
        sealed(b'{"seq":\xff'),
        sealed('{"a":' + "[" * 100_000),
        sealed(""),
        b"",
        b"\0" * 4096,
    ],
)
def test_what_does_not_fit_is_a_bad_line_with_a_reason(line: bytes) -> None:
    bad = decode(line)
    assert isinstance(bad, BadLine)
    assert bad.reason


@pytest.mark.parametrize(
    "text", ["caf\udce9", "\ud800", "é\udcff𝄞", "\U0001f600", "\u2028", '"crc":"00000000"}', "\x00"]
)
def test_text_of_any_kind_comes_back(text: str) -> None:
    event = msgspec.structs.replace(
        FULL, payload=EntryAdded(kind="message", role="user", text=text), event_id=text, id=text
    )
    line = encode(event)
    assert line.count(b"\n") == 1
    assert decode(line) == event
    unknown = msgspec.structs.replace(FULL, payload=Unknown(type="new", fields={"a": [text]}))
    assert decode(encode(unknown)) == unknown


class Stranger(Payload):
    """Not an event."""


@pytest.mark.parametrize(
    "payload",
    [Stranger(), Note(kind="x", details={"a": object()}), Note(kind="\udc80", details={"a": float("nan")})],
)
def test_what_json_cannot_hold_is_refused(payload: Payload) -> None:
    with pytest.raises(EventRefused):
        encode(msgspec.structs.replace(FULL, payload=payload))


def test_an_endless_payload_is_refused() -> None:
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(EventRefused):
        encode(msgspec.structs.replace(FULL, payload=Note(kind="x", details=endless)))


def test_a_line_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(encode(FULL))
    monkeypatch.setattr(codec, "MAX_LINE_BYTES", size)
    assert len(encode(FULL)) == size
    monkeypatch.setattr(codec, "MAX_LINE_BYTES", size - 1)
    with pytest.raises(EventRefused, match="larger than"):
        encode(FULL)


def test_every_type_of_the_union_has_a_name_that_decodes() -> None:
    for name, payload_type in EVENT_TYPES.items():
        bad = decode(line_of(name, "{}"))
        required = any(field.required for field in msgspec.structs.fields(payload_type))
        assert isinstance(bad, BadLine) == required, name


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(details=st.dictionaries(st.text(), json_values, max_size=4), seq=st.integers(0, 2**53))
def test_whatever_is_written_is_read(details: dict[str, object], seq: int) -> None:
    event = msgspec.structs.replace(FULL, payload=Note(kind="x", details=details), seq=seq)
    line = encode(event)
    assert checksum_holds(line[:-1])
    assert decode(line) == event


def test_an_old_version_is_lifted_before_it_must_fit() -> None:
    line = line_of("usage_recorded", '{"id":"u","input":1,"cached":0,"output":2}')
    assert isinstance(decode(line), BadLine)

    def named(fields: dict[str, object]) -> dict[str, object]:
        return {
            "usage_id": fields["id"],
            "input_tokens": fields["input"],
            "cached_tokens": fields["cached"],
            "output_tokens": fields["output"],
        }

    event = decode(line, version=0, steps={("usage_recorded", 0): named})
    assert isinstance(event, Event)
    assert event.payload == UsageRecorded(usage_id="u", input_tokens=1, cached_tokens=0, output_tokens=2)
    assert isinstance(decode(line, version=0, steps={("usage_recorded", 0): lambda fields: {}}), BadLine)


def test_the_garbage_collector_does_not_look_at_events() -> None:
    """A hundred thousand of them would stop every thread for 30 ms each time; none is ever in a cycle."""
    event = decode(encode(FULL))
    assert isinstance(event, Event)
    assert not any(map(gc.is_tracked, (event, event.payload, event.src)))
    assert [name for name, payload in EVENT_TYPES.items() if payload.__struct_config__.gc] == []
