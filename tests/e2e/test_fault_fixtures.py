"""The four faults that a resume must stand: a torn tail, a lost index, a changed place, a repeated call.

Each runs against a real daemon over its socket; the record is damaged only while no daemon runs.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.rpc.client import Client
from resumed.daemon.runtime import state_folder
from resumed.daemon.storage.codec import encode_as
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Outcome, Status
from resumed.protocol.sessions import (
    AgentInfo,
    OperationBeginParams,
    OperationBeginResult,
    OperationCommitParams,
    SessionStartParams,
)
from resumed.restore.events.journal import Note
from resumed.restore.events.session import OperationBegun, OperationSettled
from tests.support import payments
from tests.support.killed_agent import Story, events, listed, part, read, story, stream_bytes
from tests.support.repository import every_byte
from tests.support.streams import TS, entry
from tests.support.workspace import choosing, client, resume, resume_unattended, serving

TORN_AT = (1, 2, 40, -10, -2)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Story]:
    """The story up to the agent's death."""
    with story(tmp_path) as each:
        yield each


async def take_up(connection: Client, each: Story) -> None:
    """Go on in the run of the agent that died."""
    start = SessionStartParams(
        agent=AgentInfo(name="mender", version="1.2"),
        cwd=str(each.root),
        thread_id=each.thread,
        session_id=each.killed.session_id,
    )
    await connection.call("session/start", start)


def begin(each: Story, operation_id: str, **args: object) -> OperationBeginParams:
    """The announcement of a call, as an agent delivers it."""
    return OperationBeginParams(
        session_id=each.killed.session_id, operation_id=operation_id, tool="run", args=args
    )


def commit(each: Story, operation_id: str, result: str | None = None) -> OperationCommitParams:
    """The end of a call."""
    return OperationCommitParams(
        session_id=each.killed.session_id, operation_id=operation_id, exit_code=0, result=result
    )


@pytest.mark.parametrize("cut", TORN_AT)
async def test_a_torn_tail_loses_nothing_that_was_acknowledged(told: Story, cut: int) -> None:
    before = await read(told.root, told.thread)
    told.daemon.kill()
    whole = told.stream().read_bytes()
    torn = encode_as(entry("never acknowledged"), len(whole.splitlines()) + 1, TS)[:cut]
    told.stream().write_bytes(whole + torn)

    told.daemon.start_again()
    seen = await read(told.root, told.thread)
    assert f"cut off after {len(torn)} byte" in " ".join(seen.damage)
    assert msgspec.structs.replace(seen, damage=()) == before
    async with client(told.root) as connection:
        await take_up(connection, told)
        await connection.call("operation/commit", commit(told, "test-2", "9 passed"))

    assert told.stream().read_bytes().startswith(whole + torn + b"\n")
    told_of = [e.payload.details for e in events(told.stream()) if isinstance(e.payload, Note)]
    assert [(note["offset"], note["length"]) for note in told_of] == [(len(whole), len(torn))]
    assert told_of[0]["sha256"] == hashlib.sha256(torn).hexdigest()
    (aside,) = (state_folder() / "quarantine").iterdir()
    assert aside.read_bytes() == torn
    after = await read(told.root, told.thread)
    assert after.damage == ()
    assert after.operations.total == before.operations.total
    assert after.operations.dangling == ()


async def test_an_event_that_lacks_only_its_line_end_counts(told: Story) -> None:
    told.daemon.kill()
    whole = told.stream().read_bytes()
    told.stream().write_bytes(whole + encode_as(entry("written"), len(whole.splitlines()) + 1, TS)[:-1])
    told.daemon.start_again()
    after = await read(told.root, told.thread)
    assert after.conversation.last_message == "written"
    assert after.damage == ()


async def test_acknowledged_events_that_vanished_are_said_to_be_gone(told: Story) -> None:
    told.daemon.stop()
    told.daemon.start_again()
    before = (await listed(told.root)).threads
    told.daemon.kill()
    whole = told.stream().read_bytes()
    told.stream().write_bytes(whole[: whole[:-1].rindex(b"\n") + 20])
    told.daemon.start_again()
    result = await listed(told.root)
    assert [row.thread_id for row in result.threads] == [row.thread_id for row in before]
    assert any("shorter than it was" in n for n in result.notes)
    assert (await read(told.root, told.thread)).operations.dangling == ()


@pytest.mark.parametrize("damage", ["deleted", "overwritten", "emptied"])
async def test_a_lost_index_loses_nothing(told: Story, damage: str) -> None:
    rows, whole = (await listed(told.root)).threads, await read(told.root, told.thread)
    told.daemon.stop()
    files = list(state_folder().glob("workspaces/*/index-v*.db*"))
    assert files
    for path in files:
        match damage:
            case "deleted":
                path.unlink()
            case "overwritten":
                path.write_bytes(b"not a database" * 1000)
            case _:
                path.write_bytes(b"")
    told.daemon.start_again()
    assert (await listed(told.root)).threads == rows
    assert await read(told.root, told.thread) == whole


async def test_resumed_from_another_project_is_blocked_with_the_differences(told: Story) -> None:
    here, there = told.projects.storefront, told.projects.payments
    before = every_byte(here.root), every_byte(there.root)
    with serving(here.root) as other:
        report = await resume_unattended(other.folder, told.thread)
    assert report.outcome is Outcome.NEEDS_ANSWER
    assert report.launch is None
    assert [drift.kind.value for drift in report.drifts][:1] == ["otherProject"]
    assert [(row.what, row.recorded, row.now) for row in report.differences] == [
        ("folder", str(there.root), str(here.root)),
        ("repository", "example.invalid/acme/payments", "example.invalid/acme/storefront"),
        (
            "branch",
            f"fix/payment ({there.branch_at('fix/payment')[:7]})",
            f"main ({here.branch_at('main')[:7]})",
        ),
    ]
    assert (every_byte(here.root), every_byte(there.root)) == before


async def test_resumed_on_another_branch_it_asks_and_then_restores(told: Story) -> None:
    told.projects.payments.git("switch", "--quiet", "main")
    unattended = await resume_unattended(told.root, told.thread)
    assert unattended.outcome is Outcome.NEEDS_ANSWER
    assert told.projects.payments.git("branch", "--show-current") == "main"

    report, person = await resume(told.root, told.thread, choosing(branchDiffers="switch"))
    assert person.kinds == [["branchDiffers"], ["danglingOperation"]]
    assert report.outcome is Outcome.RESTORED
    assert told.projects.payments.git("branch", "--show-current") == "fix/payment"
    assert (told.root / "rounding.py").read_text() == payments.NEW_ROUNDING
    assert part(report, "todos").summary == f'3 of 5, next "{payments.NEXT}"'
    assert part(report, "cost").summary.startswith("about $1.84 so far, continues")
    assert part(report, "verifier").summary == (
        "tests 7/9 still count: same command, same files. Failing: half_even, jpy"
    )
    assert report.record.handed_to_person == (f"`{payments.CUT_OFF}`",)
    assert report.record.tools_redone == ()
    whole = await read(told.root, told.thread)
    assert [run.reason for run in whole.runs] == ["startup", "resume"]
    assert (report.session_id, report.resumed_from) == (whole.runs[1].session_id, told.killed.session_id)


async def test_a_check_counts_only_for_the_bytes_it_was_made_on(told: Story) -> None:
    with (told.root / "rounding.py").open("a") as source:
        source.write("# a person was here\n")
    report, person = await resume(told.root, told.thread)
    assert person.kinds == [["fileChanged", "danglingOperation"]]
    assert report.outcome is Outcome.PARTIAL
    assert part(report, "verifier").status is Status.INVALIDATED
    assert report.record.rerun_checks == (payments.CHECK,)
    assert (told.root / "rounding.py").read_text().endswith("# a person was here\n")


async def test_a_call_delivered_again_has_one_effect(told: Story, tmp_path: Path) -> None:
    effects = tmp_path / "effects"
    announced = begin(told, "migrate", command="migrate")

    async def deliver() -> OperationBeginResult:
        """What an agent does with a call: announce it, and have its effect only if it is new."""
        begun: OperationBeginResult = await connection.call("operation/begin", announced)
        if not begun.repeated:
            with effects.open("a") as file:
                file.write("effect\n")
        return begun

    async with client(told.root) as connection:
        await take_up(connection, told)
        assert (await deliver()).repeated is False
        assert await deliver() == OperationBeginResult(
            operation_id="migrate", state="begun", repeated=True, result=None
        )
    told.daemon.kill()
    told.daemon.start_again()
    async with client(told.root) as connection:
        await take_up(connection, told)
        assert (await deliver()).state == "begun"
        first = await connection.call("operation/commit", commit(told, "migrate"))
        again = await connection.call("operation/commit", commit(told, "migrate"))
        assert (first.repeated, again.repeated) == (False, True)
        assert again.last_durable_event == first.last_durable_event
        assert await deliver() == OperationBeginResult(
            operation_id="migrate", state="committed", repeated=True, result=None
        )
    told.daemon.kill()
    told.daemon.start_again()
    async with client(told.root) as connection:
        await take_up(connection, told)
        assert (await deliver()).state == "committed"
    assert effects.read_text() == "effect\n"
    kinds = [e.payload for e in events(told.stream())]
    about = [p for p in kinds if isinstance(p, OperationBegun | OperationSettled)]
    assert [type(p).__name__ for p in about if p.operation_id == "migrate"] == [
        "OperationBegun",
        "OperationSettled",
    ]


async def test_a_call_whose_result_is_stored_is_answered_with_it(told: Story) -> None:
    announced = begin(told, "count", command="wc -l")
    answer = OperationBeginResult(operation_id="count", state="committed", repeated=True, result="12 lines")
    async with client(told.root) as connection:
        await take_up(connection, told)
        await connection.call("operation/begin", announced)
        await connection.call("operation/commit", commit(told, "count", "12 lines"))
        assert await connection.call("operation/begin", announced) == answer
    told.daemon.kill()
    told.daemon.start_again()
    async with client(told.root) as connection:
        await take_up(connection, told)
        assert await connection.call("operation/begin", announced) == answer


@pytest.mark.parametrize("state", ["begun", "committed"])
async def test_the_same_id_with_other_arguments_is_a_conflict(told: Story, state: str) -> None:
    async with client(told.root) as connection:
        await take_up(connection, told)
        await connection.call("operation/begin", begin(told, "migrate", command="migrate"))
        if state == "committed":
            await connection.call("operation/commit", commit(told, "migrate"))
        before = stream_bytes()
        for other in (
            begin(told, "migrate", command="migrate --force"),
            msgspec.structs.replace(begin(told, "migrate", command="migrate"), tool="shell"),
        ):
            with pytest.raises(ResumedError) as refused:
                await connection.call("operation/begin", other)
            assert refused.value.code is ErrorCode.OPERATION_CONFLICT
        assert stream_bytes() == before
