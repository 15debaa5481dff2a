"""A conversation comes over byte by byte, or not at all; a kill leaves it whole or absent."""

import io
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from resumed.daemon.keeping import incoming
from resumed.daemon.keeping import manifest as manifests
from resumed.daemon.keeping.container import ContainerReader, ContainerWriter
from resumed.daemon.keeping.manifest import MANIFEST, Manifest, Member
from resumed.daemon.storage.blob_rows import BlobFound
from resumed.daemon.storage.codec import encode_as
from resumed.daemon.storage.errors import StorageFailed
from resumed.daemon.workspace import Workspace
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from resumed.protocol.threads import ThreadListParams
from tests.support.blobs import ask
from tests.support.machines import (
    CLIENT,
    KEPT,
    Machine,
    contents,
    ended_run,
    everything,
    leftovers,
    sha256,
    stream_files,
)
from tests.support.runs import run_meta
from tests.support.streams import TS, line, meta

OTHER = "33333333-3333-4333-8333-333333333333"
Members = dict[str, bytes]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, "here", monkeypatch)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, "there", monkeypatch)


@pytest.fixture
async def exported(here: Machine) -> Path:
    """A thread with two runs and contents, in a file; the machine that it comes from is closed."""
    target = here.work / "round.tar.zst"
    async with here.opened() as workspace:
        thread = await ended_run(workspace, *KEPT)
        await ended_run(workspace, b"more", thread_id=thread)
        await workspace.exporter.export(thread, str(target))
    return target


def unpacked(path: Path) -> tuple[Manifest, Members]:
    with path.open("rb") as file:
        reader = ContainerReader(file)
        parts: list[bytes] = []
        reader.read(reader.enter(MANIFEST), parts.append)
        manifest = manifests.decode(b"".join(parts))
        found = {}
        for member in manifest.members:
            parts = []
            reader.read(reader.enter(member.name, size=member.size), parts.append)
            found[member.name] = b"".join(parts)
    return manifest, found


def packed(manifest: object, members: Members) -> bytes:
    """A file with this manifest, whatever it says."""
    file = io.BytesIO()
    writer = ContainerWriter(file)
    data = msgspec.json.encode(manifest)
    for name, content in {MANIFEST: data, **members}.items():
        writer.add(name, len(content), [content])
    writer.close()
    return file.getvalue()


def describing(manifest: Manifest, members: Members) -> Manifest:
    """The manifest with the true sizes and hashes of these members."""
    described = tuple(
        Member(name=name, size=len(data), sha256=sha256(data)) for name, data in members.items()
    )
    return msgspec.structs.replace(manifest, members=described)


async def refused(workspace: Workspace, path: Path) -> ResumedError:
    """The refusal of a file, which has changed nothing."""
    before = everything()
    with pytest.raises(ResumedError) as refusal:
        await workspace.importer.take_in(str(path), CLIENT.info)
    assert everything() == before
    assert leftovers() == []
    return refusal.value


async def test_it_comes_over_byte_by_byte_to_another_machine(
    here: Machine, there: Machine, exported: Path
) -> None:
    async with here.opened() as workspace:
        record = await workspace.threads.record((await workspace.threads.find("round")).thread_id)
        sent, sent_contents, install = stream_files(), contents(), workspace.layout.install_id
    async with there.opened() as workspace:
        assert workspace.layout.install_id != install
        result = await workspace.importer.take_in(str(exported), CLIENT.info)
        assert (result.status, result.name, result.runs, result.contents) == ("imported", "Round", 2, 4)
        assert stream_files() == sent
        assert contents() == sent_contents
        assert await workspace.blobs.get(sha256(KEPT[1])) == BlobFound(KEPT[1])
        await workspace.threads.look_again()
        (listed,) = (await workspace.threads.page(ThreadListParams(scope="all"))).threads
        assert (listed.thread_id, listed.name, listed.runs, listed.damaged) == (
            *(result.thread_id, "Round", 2, False),
        )
        taken_in = await workspace.threads.record(result.thread_id)
        assert (taken_in.runs, taken_in.through) == (record.runs, record.through)
        assert workspace.threads.all_notes() == ()
        assert leftovers() == []
        again = await workspace.exporter.export("round", str(there.work / "again"))
        assert Path(again.path).read_bytes() == exported.read_bytes()


async def test_it_goes_on_where_it_came_to(there: Machine, exported: Path) -> None:
    async with there.opened() as workspace:
        thread = (await workspace.importer.take_in(str(exported), CLIENT.info)).thread_id
        await ended_run(workspace, b"later", thread_id=thread)
        record = await workspace.threads.record(thread)
        assert (len(record.runs), record.damage) == (3, ())
        assert (await workspace.importer.take_in(str(exported), CLIENT.info)).status == "present"
        assert await workspace.threads.record(thread) == record


async def test_what_is_here_already_is_answered_as_such(here: Machine, exported: Path) -> None:
    async with here.opened() as workspace:
        before = everything()
        result = await workspace.importer.take_in(str(exported), CLIENT.info)
        assert result.status == "present"
        assert everything() == before
        ask(workspace.layout, "DELETE FROM blobs WHERE size = 9")
        await workspace.importer.take_in(str(exported), CLIENT.info)
        assert everything() == before, "a content that was lost is kept again"


async def test_what_was_staged_is_removed_beside_the_event_loop(
    here: Machine, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loops: list[bool] = []
    rmtree = shutil.rmtree

    def removing(folder: Path) -> None:
        loops.append(threading.current_thread() is threading.main_thread())
        rmtree(folder)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", removing)
        async with here.opened() as workspace:
            assert (await workspace.importer.take_in(str(exported), CLIENT.info)).status == "present"
            assert loops == [False]
            exported.write_bytes(b"no archive")
            await refused(workspace, exported)
            assert loops == [False, False]


async def test_one_that_went_on_differently_is_a_conflict(
    here: Machine, there: Machine, exported: Path, tmp_path: Path
) -> None:
    async with there.opened() as workspace:
        thread = (await workspace.importer.take_in(str(exported), CLIENT.info)).thread_id
        await ended_run(workspace, thread_id=thread)
        await workspace.exporter.export(thread, str(tmp_path / "further"))
    async with here.opened() as workspace:
        assert (await refused(workspace, tmp_path / "further")).code is ErrorCode.IMPORT_CONFLICT
        await ended_run(workspace, thread_id=thread)
        assert (await refused(workspace, tmp_path / "further")).code is ErrorCode.IMPORT_CONFLICT
        assert (await workspace.importer.take_in(str(exported), CLIENT.info)).status == "present"
        await workspace.purger.purge(thread, CLIENT.info)
        assert (await workspace.importer.take_in(str(tmp_path / "further"), CLIENT.info)).runs == 3


async def test_a_run_of_another_thread_here_is_a_conflict(there: Machine, exported: Path) -> None:
    manifest, _ = unpacked(exported)
    async with there.opened() as workspace:
        taken = workspace.layout.sessions / "2026" / "01" / "02" / manifest.of("sessions")[0].file
        taken.parent.mkdir(parents=True)
        taken.write_bytes(run_meta(manifests.session_of(manifest.of("sessions")[0]), OTHER))
        assert (await refused(workspace, exported)).code is ErrorCode.IMPORT_CONFLICT


async def test_one_that_somebody_has_here_is_not_taken_in(here: Machine, exported: Path) -> None:
    async with here.opened() as workspace:
        thread = (await workspace.threads.find("round")).thread_id
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(here.work), thread_id=thread)
        await workspace.sessions.start(CLIENT, start)
        assert (await refused(workspace, exported)).code is ErrorCode.THREAD_BUSY


async def test_what_was_put_away_comes_over_put_away(here: Machine, there: Machine, tmp_path: Path) -> None:
    async with here.opened() as workspace:
        thread = await ended_run(workspace)
        await workspace.archive.move(thread, CLIENT.info, archived=True)
        await workspace.exporter.export(thread, str(tmp_path / "away"))
    async with there.opened() as workspace:
        await workspace.importer.take_in(str(tmp_path / "away"), CLIENT.info)
        assert len(list(workspace.layout.archived_sessions.iterdir())) == 1
        assert not workspace.layout.sessions.exists()


async def test_damage_comes_over_as_it_is(here: Machine, there: Machine, tmp_path: Path) -> None:
    async with here.opened() as workspace:
        thread = await ended_run(workspace)
        await ended_run(workspace, thread_id=thread)
        for number, run in enumerate(sorted(workspace.layout.sessions.rglob("rollout-*"))):
            data = run.read_bytes()
            first = data.index(b"\n") + 1
            run.write_bytes(b"garbage\n" + data[first:] if number else data[:first] + b"\0\n" + data[first:])
        quarantine = workspace.layout.quarantine
        quarantine.mkdir()
        (quarantine / f"{thread}.jsonl.10.torn").write_bytes(b"torn")
        sent = stream_files()
        await workspace.exporter.export(thread, str(tmp_path / "damaged"))
        told = (await workspace.threads.record(thread)).damage
    async with there.opened() as workspace:
        await workspace.importer.take_in(str(tmp_path / "damaged"), CLIENT.info)
        assert stream_files() == sent
        assert (await workspace.threads.record(thread)).damage == told != ()


@pytest.mark.parametrize("share", [0, 1, 30, 60, 99])
async def test_a_part_of_a_file_is_damaged(there: Machine, exported: Path, share: int) -> None:
    whole = exported.read_bytes()
    exported.write_bytes(whole[: len(whole) * share // 100])
    async with there.opened() as workspace:
        assert (await refused(workspace, exported)).code is ErrorCode.IMPORT_DAMAGED
        exported.write_bytes(whole)
        assert (await workspace.importer.take_in(str(exported), CLIENT.info)).status == "imported"


def renamed(folder: str, name: str) -> Callable[[Manifest, Members], tuple[Manifest, Members]]:
    """Give one member of a folder another name."""

    def change(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
        old = next(member for member in members if member.startswith(folder))
        changed = {name if member == old else member: data for member, data in members.items()}
        return describing(manifest, changed), changed

    return change


def rewritten(folder: str, data: bytes) -> Callable[[Manifest, Members], tuple[Manifest, Members]]:
    """Give one member of a folder other bytes, truly described."""

    def change(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
        old = next(member for member in members if member.startswith(folder))
        return describing(manifest, {**members, old: data}), {**members, old: data}

    return change


def claiming(**fields: object) -> Callable[[Manifest, Members], tuple[Manifest, Members]]:
    """Let the manifest say something else of its first member."""

    def change(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
        first = msgspec.structs.replace(manifest.members[0], **fields)
        return msgspec.structs.replace(manifest, members=(first, *manifest.members[1:])), members

    return change


def with_content(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
    more = {**members, f"contents/{sha256(b'strange')}": b"strange"}
    return describing(manifest, more), more


def twice(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
    return msgspec.structs.replace(manifest, members=(*manifest.members, manifest.members[0])), members


def of_another(manifest: Manifest, members: Members) -> tuple[Manifest, Members]:
    return msgspec.structs.replace(manifest, thread_id=OTHER), members


HOSTILE = {
    "a path out of the folder": renamed("sessions", "sessions/../../../escaped.jsonl"),
    "an absolute path": renamed("sessions", "/tmp/escaped.jsonl"),
    "another folder": renamed("sessions", "workspaces/escaped.jsonl"),
    "a name of its own": renamed("sessions", "sessions/escaped.jsonl"),
    "the name of a setting": renamed("sessions", "settings.toml"),
    "a content that is not what it is called": renamed("contents", f"contents/{'ab' * 32}"),
    "a segment without its first file": renamed(
        "sessions", f"sessions/rollout-2026-01-02T03-04-05-{OTHER}.1.jsonl"
    ),
    "the copy of a stranger's file": renamed("contents", "quarantine/blobs.db.corrupt-1"),
    "another thread's stream": rewritten("threads", encode_as(meta(OTHER), 1, TS) + line("x", 2)),
    "a run in the place of the thread": rewritten("threads", run_meta(OTHER)),
    "a thread in the place of a run": rewritten("sessions", encode_as(meta(OTHER), 1, TS)),
    "a run of another thread": rewritten("sessions", run_meta(OTHER, OTHER)),
    "a run that nobody names": renamed("sessions", f"sessions/rollout-2026-01-02T03-04-05-{OTHER}.jsonl"),
    "a content that nothing names": with_content,
    "a member twice": twice,
    "the id of another thread": of_another,
    "a size that is not true": claiming(size=5),
    "a size below nothing": claiming(size=-1),
    "a size beyond everything": claiming(size=1 << 62),
    "a hash that is not true": claiming(sha256="ab" * 32),
    "a hash that is none": claiming(sha256="../x"),
}


@pytest.mark.parametrize("how", HOSTILE)
async def test_a_hostile_file_is_refused_and_changes_nothing(
    there: Machine, exported: Path, how: str, tmp_path: Path
) -> None:
    exported.write_bytes(packed(*HOSTILE[how](*unpacked(exported))))
    async with there.opened() as workspace:
        outside = sorted(tmp_path.rglob("*escaped*"))
        assert (await refused(workspace, exported)).code is ErrorCode.IMPORT_DAMAGED
        assert sorted(tmp_path.rglob("*escaped*")) == outside == []
        assert not Path("/tmp/escaped.jsonl").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"text", b"\x28\xb5\x2f\xfd", zstandard.compress(b""), zstandard.compress(bytes(10 << 20))],
)
async def test_what_is_no_such_file_is_refused(there: Machine, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    async with there.opened() as workspace:
        assert (await refused(workspace, tmp_path / "file")).code is ErrorCode.IMPORT_DAMAGED


@pytest.mark.parametrize(
    "fields", [{"format": 2}, {"format": 2, "members": 7, "program": "9.0"}, {"schema_version": 9}]
)
async def test_a_newer_file_is_told_to_be_newer(there: Machine, exported: Path, fields: Members) -> None:
    manifest, members = unpacked(exported)
    exported.write_bytes(packed({**msgspec.to_builtins(manifest), **fields}, members))
    async with there.opened() as workspace:
        assert (await refused(workspace, exported)).code is ErrorCode.IMPORT_NEWER


async def test_newer_streams_in_it_are_told_to_be_newer(there: Machine, exported: Path) -> None:
    manifest, members = unpacked(exported)
    name = manifest.of("sessions")[0].name
    session = manifests.session_of(manifest.of("sessions")[0])
    changed = {**members, name: run_meta(session, manifest.thread_id, version=9)}
    changed = {each: data for each, data in changed.items() if not each.startswith("contents")}
    exported.write_bytes(packed(describing(manifest, changed), changed))
    async with there.opened() as workspace:
        assert (await refused(workspace, exported)).code is ErrorCode.IMPORT_NEWER


@pytest.mark.parametrize("path", ["relative", "/nowhere/at/all", "/tmp", "/dev/zero", "/tmp/a\0b", ""])
async def test_a_path_that_is_no_file_is_refused(there: Machine, path: str) -> None:
    async with there.opened() as workspace:
        assert (await refused(workspace, Path(path))).code is ErrorCode.FILE_REFUSED


async def test_where_there_is_no_room_nothing_is_staged(
    there: Machine, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with there.opened() as workspace:
        monkeypatch.setattr("resumed.daemon.keeping.importing.SPARE_BYTES", 1 << 60)
        before = everything()
        with pytest.raises(StorageFailed, match="no room"):
            await workspace.importer.take_in(str(exported), CLIENT.info)
        assert everything() == before


async def test_two_at_once_do_not_mix(there: Machine, exported: Path) -> None:
    async with there.opened() as workspace:
        busy = pytest.raises(StorageFailed, match="Another conversation")
        with incoming.taking_in(workspace.layout), busy:
            await workspace.importer.take_in(str(exported), CLIENT.info)
        assert (await workspace.importer.take_in(str(exported), CLIENT.info)).status == "imported"


async def test_where_there_are_no_links_it_is_copied(
    there: Machine, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(1, os.strerror(1))

    async with there.opened() as workspace:
        monkeypatch.setattr(os, "link", refuse)
        thread = (await workspace.importer.take_in(str(exported), CLIENT.info)).thread_id
        assert (await workspace.threads.record(thread)).damage == ()
        assert leftovers() == []
