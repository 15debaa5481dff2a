"""Which conversations are listed here."""

from pathlib import Path

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.surroundings import ELSEWHERE, PROJECT, WORKTREE, Folders, Surroundings
from tests.support.codex import ORIGIN, build_scratch_repo

COMMIT = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"


def _row(root: str, origin: str | None = ORIGIN, sha: str | None = COMMIT) -> ThreadRow:
    return ThreadRow(
        thread_id=root, name="", agent="codex", root=root, state="idle", created_at="", last_active_at="",
        source="", origin=origin, sha=sha,
    )  # fmt: skip


async def _groups(root: Path, *rows: ThreadRow) -> list[str]:
    folders = await Surroundings(str(root), Git(GitCommand())).folders(rows)
    return [folders.group(row.root) for row in rows]


async def test_by_folder_and_by_registered_work_tree(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    rows = [_row(str(repo)), _row(f"{repo}/src"), _row(str(worktree)), _row(f"{repo}-other/x")]
    (tmp_path / "repo-other" / "x").mkdir(parents=True)
    assert await _groups(repo, *rows) == [PROJECT, PROJECT, WORKTREE, ELSEWHERE]


async def test_a_gone_folder_belongs_here_by_origin_and_commit(tmp_path: Path) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    gone = str(tmp_path / "gone")
    assert await _groups(repo, _row(gone)) == [PROJECT]
    assert await _groups(repo, _row(gone, origin="https://example.invalid/other.git")) == [ELSEWHERE]
    assert await _groups(repo, _row(gone, sha="0" * 40)) == [ELSEWHERE]
    assert await _groups(repo, _row(gone, origin=None)) == [ELSEWHERE]


async def test_a_plain_folder_has_only_itself(tmp_path: Path) -> None:
    assert await _groups(tmp_path, _row(str(tmp_path)), _row("/somewhere")) == [PROJECT, ELSEWHERE]


def test_a_worktree_inside_the_project_is_a_worktree() -> None:
    folders = Folders(project=("/p",), worktrees=("/p/.worktrees/a",))
    assert folders.group("/p/.worktrees/a/src") == WORKTREE
    assert folders.group("/p/.worktrees") == PROJECT
