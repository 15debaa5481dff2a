"""A checkpoint comes back as it was, or not at all."""

import os
from pathlib import Path

import msgspec

from resumed.daemon.agents.codex.store import CodexStore
from resumed.daemon.record_checkpoint import (
    Checkpoint,
    ForeignPart,
    foreign_holds,
    foreign_part,
    pack,
    unpack,
)
from resumed.restore.lifecycle import LifecycleState
from resumed.restore.subsystems import SUBSYSTEMS
from tests.support.codex import install_recording


def _checkpoint(part: ForeignPart | None = None) -> Checkpoint:
    return Checkpoint(
        foreign=part,
        streams={},
        latest="2026-11-30T18:00:00.000Z",
        states={subsystem.name: subsystem.initial() for subsystem in SUBSYSTEMS},
        lifecycle=LifecycleState(thread_id="t"),
        events_read=7,
        damage=("one line",),
        lost=1,
    )


def _read() -> tuple[Path, ForeignPart]:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    reading = CodexStore(Path(os.environ["CODEX_HOME"])).read(path)
    for _ in reading:
        pass
    part = foreign_part(path, reading.cursor())
    assert part is not None
    return path, part


def test_it_comes_back_as_it_was() -> None:
    _, part = _read()
    before = _checkpoint(part)
    after = unpack(pack(before))
    assert after is not None
    assert (after.foreign, after.latest, after.events_read) == (part, before.latest, 7)
    assert (after.damage, after.lost) == (("one line",), 1)
    folded = {s.name: before.states[s.name] for s in SUBSYSTEMS if s.handles}
    assert after.states == folded


def test_damaged_or_of_another_version_it_is_not_used() -> None:
    body = pack(_checkpoint())
    assert unpack(body[:-3]) is None
    assert unpack(b"\x00" * 20) is None
    fields = msgspec.msgpack.decode(body)
    fields["versions"]["cost"] += 1
    assert unpack(msgspec.msgpack.encode(fields)) is None


def test_a_file_that_grew_is_the_same_file() -> None:
    path, part = _read()
    assert foreign_holds(part, path)
    with path.open("ab") as rollout:
        rollout.write(b"{}\n")
    assert foreign_holds(part, path)


def test_a_file_replaced_shortened_or_gone_is_not() -> None:
    path, part = _read()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    assert not foreign_holds(part, path)
    path.write_bytes(content[:-10])
    assert not foreign_holds(part, path)
    path.unlink()
    assert not foreign_holds(part, path)


def test_a_thread_without_a_file_matches_only_a_thread_without_one() -> None:
    path, part = _read()
    assert foreign_holds(None, None)
    assert not foreign_holds(None, path)
    assert not foreign_holds(part, None)
