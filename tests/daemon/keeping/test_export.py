"""One file with all that is kept of a thread: the same each time, never over another file."""

import os
from pathlib import Path

import pytest

from resumed.daemon.keeping.container import ContainerReader
from resumed.daemon.keeping.manifest import MANIFEST, Manifest, decode
from resumed.daemon.storage.errors import StorageFailed
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.sessions import AgentInfo, SessionStartParams
from tests.support.blobs import ask
from tests.support.codex import install_recording
from tests.support.machines import CLIENT, KEPT, Machine, ended_run, everything, sha256, stream_files

CODEX = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, "here", monkeypatch)


def manifest_of(path: Path) -> Manifest:
    parts: list[bytes] = []
    with path.open("rb") as file:
        reader = ContainerReader(file)
        reader.read(reader.enter(MANIFEST), parts.append)
    return decode(b"".join(parts))


async def test_all_that_is_kept_is_in_it_and_nothing_is_changed(machine: Machine) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace, *KEPT)
        await ended_run(workspace, b"of another run", thread_id=thread)
        other = await ended_run(workspace, b"of another thread")
        before = everything()
        target = machine.work / "round.tar.zst"
        result = await workspace.exporter.export(thread, str(target))
        assert everything() == before
        assert (result.runs, result.contents, result.missing) == (2, len(KEPT) + 1, 0)
        assert (result.bytes, result.sha256) == (target.stat().st_size, sha256(target.read_bytes()))
        assert target.stat().st_mode & 0o777 == 0o600
        manifest = manifest_of(target)
        assert (manifest.thread_id, manifest.name) == (thread, "Round")
        assert {member.file for member in manifest.of("contents")} == {
            *map(sha256, KEPT),
            sha256(b"of another run"),
        }
        assert len(manifest.of("sessions")) == 2
        assert other not in str(manifest)
        again = await workspace.exporter.export(thread, str(machine.work / "again"))
        assert again.sha256 == result.sha256
        assert list(machine.work.glob(".*")) == []


async def test_nothing_is_overwritten_and_only_a_good_place_is_taken(machine: Machine) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace)
        there = machine.work / "there"
        there.write_text("mine")
        (machine.work / "link").symlink_to(machine.work / "nowhere")
        for path in (
            "relative", str(there), str(machine.work), str(machine.work / "link"), "/", "",
            str(machine.work / "no" / "folder"), str(machine.state / "x"), str(machine.state / "new" / "x"),
            str(machine.work / ".." / "state" / "x"), "/tmp/a\0b",
        ):  # fmt: skip
            with pytest.raises(ResumedError) as refused:
                await workspace.exporter.export(thread, path)
            assert refused.value.code is ErrorCode.FILE_REFUSED, path
        assert there.read_text() == "mine"
        assert not (machine.work / "nowhere").exists()


async def test_a_content_that_is_lost_is_told(machine: Machine) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace, *KEPT)
        ask(workspace.layout, "DELETE FROM blobs WHERE size = 9")
        target = machine.work / "round"
        result = await workspace.exporter.export(thread, str(target))
        assert (result.contents, result.missing) == (len(KEPT) - 1, 1)
        assert manifest_of(target).missing == (sha256(KEPT[0]),)


async def test_it_works_while_its_agent_is_at_work(machine: Machine) -> None:
    async with machine.opened() as workspace:
        start = SessionStartParams(agent=AgentInfo(name="mender"), cwd=str(machine.work))
        live = await workspace.sessions.start(CLIENT, start)
        (run,) = (machine.state / "sessions").rglob("rollout-*")
        with run.open("ab") as file:
            file.write(b'{"half a line')
        result = await workspace.exporter.export(live.thread_id, str(machine.work / "round"))
        (member,) = manifest_of(Path(result.path)).of("sessions")
        assert member.size == run.stat().st_size - len(b'{"half a line')


async def test_of_a_thread_at_rest_the_torn_end_is_taken_too(machine: Machine) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace)
        (run,) = (machine.state / "sessions").rglob("rollout-*")
        with run.open("ab") as file:
            file.write(b'{"half a line')
        result = await workspace.exporter.export(thread, str(machine.work / "round"))
        (member,) = manifest_of(Path(result.path)).of("sessions")
        assert member.size == run.stat().st_size


async def test_a_thread_of_which_only_the_agent_has_something(machine: Machine) -> None:
    path = install_recording("v171_on_request_two_turns", Path(os.environ["CODEX_HOME"]))
    async with machine.opened() as workspace:
        with pytest.raises(ResumedError) as refused:
            await workspace.exporter.export(CODEX, str(machine.work / "x"))
        assert refused.value.code is ErrorCode.NOTHING_KEPT
        await workspace.archive.move(CODEX, CLIENT.info, archived=True)
        result = await workspace.exporter.export(CODEX, str(machine.work / "x"))
        assert (result.depends_on, result.runs) == (str(path), 0)


async def test_a_disk_that_refuses_leaves_no_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace)
        before = stream_files()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("resumed.daemon.keeping.export.disk.sync", full)
        with pytest.raises(StorageFailed, match="No space left"):
            await workspace.exporter.export(thread, str(machine.work / "round"))
        assert list(machine.work.iterdir()) == []
        assert stream_files() == before


async def test_a_file_that_comes_meanwhile_is_not_overwritten(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machine.opened() as workspace:
        thread = await ended_run(workspace)
        target, link = machine.work / "round", os.link

        def raced(source: Path, to: Path) -> None:
            target.write_text("mine")
            link(source, to)

        monkeypatch.setattr(os, "link", raced)
        with pytest.raises(ResumedError) as refused:
            await workspace.exporter.export(thread, str(target))
        assert refused.value.code is ErrorCode.FILE_REFUSED
        assert [path.read_text() for path in machine.work.iterdir()] == ["mine"]
