"""Resume pressed again before any agent went on from the run that the first one made."""

from pathlib import Path

from resumed.protocol.restore import Outcome, Severity, Status
from resumed.protocol.restore import RestoreReport as Report
from resumed.protocol.resume import DriftCheckParams, DriftCheckResult
from resumed.protocol.threads import ThreadListParams, ThreadListResult, ThreadUpdated
from tests.support.killed_agent import listed, read
from tests.support.workspace import choosing, client, resume, resume_unattended
from tests.support.world import Work, inhabited


def lost(report: Report) -> tuple[str, ...]:
    """Which edits do not count, by the report; they must be listed, not asked about."""
    (operations,) = (each for each in report.subsystems if each.name == "operations")
    assert operations.status is Status.INVALIDATED
    files = [drift for drift in report.drifts if drift.subsystem == "operations"]
    assert {drift.severity for drift in files} == {Severity.INFORM}
    return report.record.invalidated


async def checked(folder: Path, thread: str) -> DriftCheckResult:
    async with client(folder) as connection:
        found: DriftCheckResult = await connection.call("drift/check", DriftCheckParams(thread=thread))
    return found


def asked_kinds(found: DriftCheckResult) -> list[str]:
    return [drift.kind.value for drift in found.drifts if drift.severity is not Severity.INFORM]


async def test_what_a_folder_made_new_lacks_is_lost_until_an_agent_was_told(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        repository, linked = world.scratch()
        repository.git("worktree", "remove", "--force", str(linked.root))
        thread = world.codex("v171_worktree_workspace_write")
        folder = world.serve("repo")
        first, _ = await resume(folder, thread)
        looked, inside = await checked(folder, thread), await checked(world.serve("repo-wt"), thread)
        again, person = await resume(folder, thread)
        assert person.kinds == [["otherProject"], ["neverAsk"]]
        assert asked_kinds(looked) == ["otherProject", "neverAsk"]
        assert asked_kinds(inside) == ["neverAsk"]
        assert first.outcome is again.outcome is Outcome.PARTIAL
        assert lost(first) == lost(again) == ("README.md", "note_12.txt")
        for line in ("This folder was made new.", "README.md is not as you left it", "note_12.txt is gone."):
            assert line in first.handover
            assert line in again.handover
        (linked.root / "note_12.txt").write_text("made by the user\n")
        third, person = await resume(folder, thread)
        assert "fileChanged" in person.kinds[1]
        assert (third.outcome, third.record.invalidated) == (Outcome.PARTIAL, ("README.md",))
        assert "note_12.txt is not as you left it: other text." in third.handover


async def test_what_was_lost_by_staying_on_another_branch_stays_lost(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        repository = world.payments()
        thread = await world.work("payments")
        repository.git("switch", "--quiet", "main")
        folder = world.serve("payments")
        stay = choosing(branchDiffers="stay")
        first, _ = await resume(folder, thread, stay)
        again, person = await resume(folder, thread, stay)
        assert person.kinds == []
        assert first.outcome is again.outcome is Outcome.PARTIAL
        assert lost(first) == lost(again) == ("rounding.py", "test_rounding.py")
        assert "This folder is on main, not on fix/payment." in again.handover
        assert (await checked(folder, thread)).question is None
        repository.git("switch", "--quiet", "fix/payment")
        back, _ = await resume(folder, thread, stay)
        assert back.outcome is Outcome.RESTORED, back.headline


async def test_a_run_that_no_agent_took_up_has_no_number(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        world.scratch()
        thread = world.codex("v171_on_request_two_turns")
        folder = world.serve("repo")
        reports = [await resume_unattended(folder, thread) for _ in range(2)]
        assert [report.run for report in reports] == [2, 2]
        assert [run.taken_up for run in (await read(folder, thread)).runs] == [True, False, False]
        assert [row.runs for row in (await listed(folder)).threads] == [1]
        world.goes_on(thread)
        assert [run.taken_up for run in (await read(folder, thread)).runs] == [True, False, True]
        assert (await resume_unattended(folder, thread)).run == 3


async def test_a_folder_without_a_repository_is_ready_as_it_was_left(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        notes = world.home / "notes"
        notes.mkdir()
        thread = await world.work("notes", Work(edits={"plan.txt": "one\n"}, commits=False))
        folder = world.serve("notes")
        ready = await resume_unattended(folder, thread)
        assert (ready.outcome, ready.drifts) == (Outcome.RESTORED, ())
        assert ready.six.where.summary == "~/notes"
        (notes / "plan.txt").write_text("two\n")
        changed, person = await resume(folder, thread)
        assert person.kinds == [["fileChanged"]]
        assert changed.outcome is Outcome.RESTORED


async def test_an_edit_that_came_back_is_watched_again(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        repository, linked = world.scratch()
        left = {name: (linked.root / name).read_text() for name in ("README.md", "note_12.txt")}
        repository.git("worktree", "remove", "--force", str(linked.root))
        thread = world.codex("v171_worktree_workspace_write")
        folder = world.serve("repo")
        await resume(folder, thread)
        for name, text in left.items():
            (linked.root / name).write_text(text)
        back, _ = await resume(folder, thread)
        assert back.outcome is Outcome.RESTORED, back.headline
        # Only the second restore reaches the agent, and by that one nothing was lost.
        world.goes_on(thread)
        (linked.root / "note_12.txt").write_text("made by the user\n")
        _, person = await resume(folder, thread)
        assert "fileChanged" in [kind for kinds in person.kinds for kind in kinds]


async def test_a_file_that_the_agent_edits_again_is_an_ordinary_one(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        repository = world.payments()
        thread = await world.work("payments")
        repository.git("switch", "--quiet", "main")
        folder = world.serve("payments")
        await resume(folder, thread, choosing(branchDiffers="stay"))
        more = Work(edits={"rounding.py": "half = 0.75\n"}, commits=False, thread=thread)
        await world.work("payments", more)
        (repository.root / "rounding.py").write_text("half = 1\n")
        _, person = await resume(folder, thread)
        asked = [drift.path for question in person.asked for drift in question.drifts]
        assert "rounding.py" in asked


async def test_a_folder_that_a_restore_made_is_one_of_the_project_when_it_is_answered(tmp_path: Path) -> None:
    with inhabited(tmp_path) as world:
        repository = world.payments()
        thread = await world.work("payments")
        repository.git("switch", "--quiet", "main")
        folder = world.serve("payments")
        async with client(folder) as connection:
            before: ThreadListResult = await connection.call("thread/list", ThreadListParams())
        assert [row.group for row in before.threads] == ["project"]
        report, person = await resume(folder, thread, choosing(branchDiffers="newWorktree"))
        assert report.outcome is Outcome.RESTORED, report.headline
        async with client(folder) as connection:
            after: ThreadListResult = await connection.call("thread/list", ThreadListParams())
        assert report.launch is None
        assert [(row.group, row.root) for row in after.threads] == [
            ("worktree", f"{repository.root}.fix-payment")
        ]
        told = [each.summary.group for _, each in person.told if isinstance(each, ThreadUpdated)]
        assert told == ["worktree"]
