"""Which conversations are listed here."""

from pathlib import Path

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.storage.rows import RecordedPlace
from resumed.daemon.surroundings import ELSEWHERE, PROJECT, WORKTREE, Folders, Surroundings
from tests.support.codex import ORIGIN, build_scratch_repo, git

COMMIT = "d585eef34e4ec41e24d4f504906dc908fc9e38a2"


def _row(root: str, origin: str | None = ORIGIN, sha: str | None = COMMIT) -> RecordedPlace:
    return RecordedPlace(root, origin, sha)


async def _groups(root: Path, *rows: RecordedPlace) -> list[str]:
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


async def test_a_path_through_a_link_belongs_where_it_leads(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path / "real")
    (tmp_path / "people").symlink_to(tmp_path / "real")
    people = tmp_path / "people"
    (people / "other").mkdir()
    rows = [_row(f"{people}/{name}") for name in ("repo", "repo/src", "repo-wt", "other")]
    assert await _groups(repo, *rows) == [PROJECT, PROJECT, WORKTREE, ELSEWHERE]
    assert await _groups(worktree, rows[0], rows[2]) == [WORKTREE, PROJECT]
    plain = tmp_path / "real" / "plain"
    plain.mkdir()
    assert await _groups(plain, _row(f"{people}/plain"), _row(f"{people}/repo")) == [PROJECT, ELSEWHERE]


async def test_of_threads_with_one_gone_folder_any_may_say_that_it_is_ours(tmp_path: Path) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    gone = str(tmp_path / "gone")
    unborn = _row(gone, sha=None)
    assert await _groups(repo, _row(gone), unborn) == [PROJECT, PROJECT]
    assert await _groups(repo, unborn, _row(gone)) == [PROJECT, PROJECT]


async def test_a_gone_folder_inside_a_work_tree_stays_with_it(tmp_path: Path) -> None:
    repo, worktree = build_scratch_repo(tmp_path)
    assert await _groups(repo, _row(f"{worktree}/gone"), _row(f"{repo}/gone")) == [WORKTREE, PROJECT]


async def test_our_own_records_hold_the_origin_normalised(tmp_path: Path) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    gone = str(tmp_path / "gone")
    assert await _groups(repo, _row(gone, origin="example.invalid/acme/scratch")) == [PROJECT]


async def test_without_an_origin_here_nothing_is_ours_by_it(tmp_path: Path) -> None:
    repo, _ = build_scratch_repo(tmp_path)
    git(repo, "remote", "remove", "origin")
    assert await _groups(repo, _row(str(tmp_path / "gone"), origin="relative/path")) == [ELSEWHERE]


async def test_a_plain_folder_has_only_itself(tmp_path: Path) -> None:
    assert await _groups(tmp_path, _row(str(tmp_path)), _row("/somewhere")) == [PROJECT, ELSEWHERE]


def test_a_worktree_inside_the_project_is_a_worktree() -> None:
    folders = Folders(project=("/p",), worktrees=("/p/.worktrees/a",))
    assert folders.group("/p/.worktrees/a/src") == WORKTREE
    assert folders.group("/p/.worktrees") == PROJECT
