"""Making and removing linked work trees, and taking back what failed."""

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from resumed.daemon.removals import Removal
from resumed.daemon.runtime import state_folder
from resumed.restore.effects import NotPerformed
from resumed.restore.steps import AddWorktree, RemoveWorktree
from tests.support.git_port import real_git, seen_at
from tests.support.performer import performed, real_performer, refused
from tests.support.repository import Repository, every_byte, make_project, run_git
from tests.support.worktree_verbs import FEATURE, on_feature, on_new, over, undo_of


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESUMED_HOME", str(tmp_path_factory.mktemp("state")))


async def refused_unchanged(verb: AddWorktree | RemoveWorktree, around: Path) -> str:
    """Why the verb is refused; fails the test if anything around changed."""
    before = every_byte(around)
    reason = await refused(verb)
    assert every_byte(around) == before
    return reason


async def test_existing_branch_and_back(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_feature(project, tmp_path / "linked")
    before = every_byte(project.root)
    evidence = await performed(verb)
    assert evidence == {
        "path": verb.path,
        "branch": "feature",
        "sha": verb.sha,
        "already": False,
        "created_folders": [],
        "created_branch": None,
    }
    assert (tmp_path / "linked" / "added.txt").read_text() == "added\n"
    assert (await performed(verb))["already"] is True
    assert (await performed(undo_of(verb)))["removed"] is True
    assert (await performed(undo_of(verb)))["removed"] is False
    assert every_byte(project.root) == before
    assert not (tmp_path / "linked").exists()


async def test_new_branch_and_back(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    assert (await performed(verb))["created_branch"] == "new"
    assert (await seen_at(verb.path)).branch == "new"
    assert (await performed(undo_of(verb)))["deleted_branch"] == "new"
    project.git("show-ref", "--verify", "--quiet", "refs/heads/new", ends_with=1)


async def test_detached_with_missing_parents(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    path = tmp_path / "a" / "b" / "linked"
    verb = AddWorktree(restore_id="r", repository=str(project.root), path=str(path), sha=project.head())
    assert (await performed(verb))["created_folders"] == [str(tmp_path / "a"), str(tmp_path / "a" / "b")]
    assert (await seen_at(path)).detached


async def test_from_a_linked_work_tree_and_from_a_bare_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    linked = project.worktree(tmp_path / "other", "other")
    await performed(on_feature(linked, tmp_path / "linked"))
    run_git(tmp_path, "clone", "--quiet", "--bare", str(project.root), "bare.git")
    await performed(on_feature(Repository(tmp_path / "bare.git"), tmp_path / "of-bare"))
    assert (await seen_at(tmp_path / "of-bare")).branch == "feature"


async def test_removed_but_registered_is_replaced(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    await performed(over(on_feature(project, linked.root), FEATURE))
    assert len((await seen_at(project.root)).worktrees) == 2


async def test_what_only_the_log_of_a_deleted_one_holds_is_not_lost(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    linked.git("switch", "--quiet", "--detach")
    linked.commit({"loose.txt": "loose\n"}, "loose")
    loose = linked.head()
    linked.git("switch", "--quiet", "feature")
    before = linked.git("reflog", "HEAD", "--format=%H %gs")
    shutil.rmtree(linked.root)
    verb = over(on_feature(project, linked.root), FEATURE)
    await performed(verb)
    assert linked.git("reflog", "HEAD", "--format=%H %gs").endswith(before)
    # The times of tests are long ago.
    kept = ("-c", "gc.reflogExpire=never", "-c", "gc.reflogExpireUnreachable=never")
    project.git(*kept, "gc", "--quiet", "--prune=now")
    assert linked.git("cat-file", "-t", loose) == "commit"
    # It is still told whose the work tree is.
    assert (await real_git().head_log(str(linked.root))).begun_by == verb.restore_id
    assert (await performed(undo_of(verb)))["removed"] is True


async def test_removed_but_registered_elsewhere_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    changed = f"the work tree that git has registered at {linked.root} changed meanwhile"
    assert await refused_unchanged(on_feature(project, linked.root), tmp_path) == changed
    at_main = over(on_feature(project, linked.root), "refs/heads/main")
    assert await refused_unchanged(at_main, tmp_path) == changed


@pytest.mark.parametrize("head", ["feature", "other", "detached"])
async def test_taking_back_leaves_every_byte_of_the_registration_that_was_there(
    tmp_path: Path, head: str
) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    options = ("--detach",) if head == "detached" else (head,)
    linked = project.worktree(tmp_path / "linked", *options)
    linked.git("reset", "--quiet", "--hard", "HEAD")  # leaves ORIG_HEAD and a line in its reflog
    shutil.rmtree(linked.root)
    at = (await seen_at(project.root)).worktrees[1].sha if head == "detached" else f"refs/heads/{head}"
    before = every_byte(tmp_path)
    assert any(name.endswith("worktrees/linked/ORIG_HEAD") for name in before)
    verb = over(on_feature(project, linked.root), at or "")
    await performed(verb)
    assert every_byte(tmp_path) != before
    for _ in range(2):
        await performed(undo_of(verb))
        assert every_byte(tmp_path) == before


async def test_a_deleted_one_below_a_folder_that_became_a_link(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    shutil.rmtree(project.worktree(tmp_path / "old" / "linked", "feature").root)
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "old").symlink_to("new")
    before = every_byte(tmp_path)
    verb = over(on_feature(project, tmp_path / "new" / "linked"), FEATURE)
    await performed(verb)
    assert (tmp_path / "new" / "linked" / "added.txt").exists()
    assert len((await seen_at(project.root)).worktrees) == 2
    await performed(undo_of(verb))
    assert every_byte(tmp_path) == before


async def test_without_its_copy_nothing_is_taken_back(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    verb = over(on_feature(project, linked.root), FEATURE)
    await performed(verb)
    other = msgspec.structs.replace(undo_of(verb), restore_id="other")
    lost = "the copy of what git kept for it is not there any more"
    assert await refused_unchanged(other, tmp_path) == lost
    shutil.rmtree(state_folder() / "rescue")
    assert await refused_unchanged(undo_of(verb), tmp_path) == lost


async def test_a_failed_checkout_leaves_the_registration_that_was_there(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    project.git("config", "filter.broken.smudge", "false")
    project.git("config", "filter.broken.required", "true")
    (project.root / ".git" / "info" / "attributes").write_text("*.txt filter=broken\n")
    reason = await refused_unchanged(over(on_feature(project, linked.root), FEATURE), tmp_path)
    assert "left behind" not in reason


async def test_what_cannot_be_copied_is_not_replaced(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    linked = project.worktree(tmp_path / "linked", "feature")
    shutil.rmtree(linked.root)
    (state_folder() / "rescue").write_text("in the way\n")
    reason = await refused_unchanged(over(on_feature(project, linked.root), FEATURE), tmp_path)
    assert reason.startswith("what git keeps for it could not be copied: ")


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ("locked", "git keeps the work tree at {} locked"),
        ("moved", "the work tree of {} was moved to {}-2"),
        ("staged", "changes that were staged in {} would be lost"),
        ("merging", "a merge was half finished in {}"),
        ("loose", "the commit {sha} of {} is on no branch"),
        ("references", "references that only the work tree of {} has would be lost"),
        ("settings", "settings that only the work tree of {} has would be lost"),
        ("submodules", "the repositories of the submodules of {} would be lost"),
    ],
)
async def test_what_git_keeps_of_a_deleted_one_is_not_replaced(
    tmp_path: Path, kept: str, reason: str
) -> None:
    project = make_project(tmp_path / "project")
    path = tmp_path / "linked"
    linked = project.worktree(path, *(("--detach",) if kept in ("loose", "merging") else ("feature",)))
    if kept in ("loose", "merging"):
        linked.commit({"shared.txt": "by the user\n"})
    if kept == "locked":
        project.git("worktree", "lock", str(path))
    elif kept == "staged":
        linked.write({"staged.txt": "by the user\n"})
        linked.git("add", "staged.txt")
    elif kept == "references":
        linked.git("update-ref", "refs/worktree/mine", "HEAD")
    elif kept == "settings":
        project.git("config", "extensions.worktreeConfig", "true")
        linked.git("config", "--worktree", "core.editor", "mine")
    elif kept == "submodules":
        make_project(tmp_path / "library")
        linked.git(
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            str(tmp_path / "library"),
            "lib",
        )
        linked.commit({})
    elif kept == "merging":
        linked.git("merge", "--no-ff", "--no-commit", "feature", ends_with=1)
    head = linked.head()
    at = FEATURE if kept not in ("loose", "merging") else head
    path.rename(tmp_path / "linked-2") if kept == "moved" else shutil.rmtree(path)
    told = await refused_unchanged(over(on_feature(project, path), at), tmp_path)
    assert told == reason.format(path, path, sha=head[:7])


async def test_a_branch_of_another_gone_work_tree_is_not_taken(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.worktree(tmp_path / "linked", "feature").root.rename(tmp_path / "away")
    reason = await refused_unchanged(on_feature(project, tmp_path / "new"), tmp_path)
    assert reason == f"feature is checked out in {tmp_path / 'linked'}, whose folder is gone"


async def test_a_stale_entry_does_not_open_a_branch_that_is_in_use(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("branch", "other")
    shutil.rmtree(project.worktree(tmp_path / "gone", "other").root)
    project.worktree(tmp_path / "linked", "feature")
    reason = await refused_unchanged(
        over(on_feature(project, tmp_path / "gone"), "refs/heads/other"), tmp_path
    )
    assert reason == f"feature is checked out in {tmp_path / 'linked'}"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
async def test_something_is_there(tmp_path: Path, kind: str) -> None:
    project, path = make_project(tmp_path / "project"), tmp_path / "taken"
    if kind == "folder":
        (path / "inner").mkdir(parents=True)
    elif kind == "file":
        path.touch()
    else:
        path.symlink_to("nowhere")
    reason = await refused_unchanged(on_feature(project, path), tmp_path)
    assert reason == f"something is already at {path}"


async def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    (tmp_path / "linked").mkdir()
    await performed(on_feature(project, tmp_path / "linked"))


async def test_other_refusals(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    root, head, path = str(project.root), project.head(), str(tmp_path / "new")
    cases = {
        "is not in this repository": AddWorktree(restore_id="r", repository=root, path=path, sha="0" * 40),
        "branch feature moved": AddWorktree(
            restore_id="r", repository=root, path=path, sha=head, branch="feature"
        ),
        "there is no branch": AddWorktree(
            restore_id="r", repository=root, path=path, sha=head, branch="missing"
        ),
        "is not a branch's name": AddWorktree(
            restore_id="r", repository=root, path=path, sha=head, branch="--force"
        ),
        "is checked out in": AddWorktree(restore_id="r", repository=root, path=path, sha=head, branch="main"),
        "is not an absolute path": AddWorktree(restore_id="r", repository=root, path="new", sha=head),
        "does not name a folder": AddWorktree(restore_id="r", repository=root, path=f"{path}/..", sha=head),
        "inside the repository's own": AddWorktree(
            restore_id="r", repository=root, path=f"{root}/.git/new", sha=head
        ),
        "moved to": AddWorktree(
            restore_id="r", repository=root, path=path, sha=head, branch="feature", create_branch=True
        ),
    }
    for expected, verb in cases.items():
        assert expected in await refused_unchanged(verb, tmp_path)


async def test_a_failed_checkout_leaves_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    project.git("config", "filter.broken.smudge", "false")
    project.git("config", "filter.broken.required", "true")
    (project.root / ".git" / "info" / "attributes").write_text("*.txt filter=broken\n")
    reason = await refused_unchanged(on_new(project, tmp_path / "a" / "linked"), tmp_path)
    assert reason.startswith("git could not make the folder: ")
    assert "left behind" not in reason


async def test_a_branch_that_moves_in_between_is_taken_back(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    fake = tmp_path / "fake-git"
    fake.write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*) git -C {project.root} branch -qf feature main;;'
        ' esac\nexec git "$@"\n'
    )
    fake.chmod(0o755)
    outcome = await real_performer(str(fake)).perform(on_feature(project, tmp_path / "linked"))
    assert outcome == NotPerformed("git could not make the folder: its HEAD is not where it should be")
    assert not (tmp_path / "linked").exists()
    assert len((await seen_at(project.root)).worktrees) == 1


async def test_a_half_made_one_is_not_called_done(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_feature(project, tmp_path / "linked")
    await performed(verb)
    locked = project.root / ".git" / "worktrees" / "linked" / "locked"
    locked.write_text("initializing")
    assert "another git command is at work" in await refused_unchanged(verb, tmp_path)
    assert "another git command is at work" in await refused_unchanged(undo_of(verb), tmp_path)


@pytest.mark.parametrize(
    "kind", ["changed", "untracked", "ignored", "commit", "branch", "merge", "locked", "submodule"]
)
async def test_work_in_it_is_never_lost(tmp_path: Path, kind: str) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    await performed(verb)
    linked = Repository(tmp_path / "linked")
    if kind in ("changed", "untracked", "ignored"):
        (project.root / ".git" / "info" / "exclude").write_text(".env\n")
        names = {"changed": "kept.txt", "untracked": "mine.txt", "ignored": ".env"}
        linked.write({names[kind]: "mine\n"})
    elif kind == "commit":
        linked.commit({"more.txt": "more\n"})
    elif kind == "branch":
        linked.git("switch", "--quiet", "--create", "another")
    elif kind == "locked":
        project.git("worktree", "lock", str(linked.root))
    elif kind == "submodule":
        (project.root / ".git" / "worktrees" / "linked" / "modules").mkdir()
        (project.root / ".git" / "worktrees" / "linked" / "modules" / "HEAD").write_text("mine\n")
    else:
        linked.git("merge", "--quiet", "--no-commit", "--no-ff", "--strategy=ours", "main")
        (project.root / ".git" / "worktrees" / "linked" / "MERGE_HEAD").write_text(project.head())
    reason = await refused_unchanged(undo_of(verb), tmp_path)
    assert any(word in reason for word in ("lost", "moved on", "half finished", "locked"))


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
async def test_edits_that_git_does_not_look_at_are_not_removed(tmp_path: Path, mark: str) -> None:
    project = make_project(tmp_path / "project")
    verb = on_feature(project, tmp_path / "linked")
    await performed(verb)
    linked = Repository(tmp_path / "linked")
    linked.git("update-index", mark, "kept.txt")
    linked.write({"kept.txt": "mine\n"})
    assert "holds what would be lost" in await refused_unchanged(undo_of(verb), tmp_path)


@pytest.mark.parametrize("over_another", [False, True])
async def test_one_that_git_moved_is_not_called_removed(tmp_path: Path, over_another: bool) -> None:
    project = make_project(tmp_path / "project")
    verb = on_feature(project, tmp_path / "linked")
    if over_another:
        shutil.rmtree(project.worktree(tmp_path / "linked", "feature").root)
        verb = over(verb, FEATURE)
    await performed(verb)
    project.git("worktree", "move", verb.path, str(tmp_path / "elsewhere"))
    assert "was moved to" in await refused_unchanged(undo_of(verb), tmp_path)
    assert len((await seen_at(project.root)).worktrees) == 2


async def test_one_that_a_person_made_just_so_is_not_removed(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_feature(project, tmp_path / "linked")
    await performed(verb)
    project.git("worktree", "remove", verb.path)
    project.git("worktree", "add", "--quiet", verb.path, "feature")
    assert (await performed(verb))["already"] is True
    before = every_byte(tmp_path)
    assert (await performed(undo_of(verb)))["removed"] is False
    assert every_byte(tmp_path) == before


async def test_a_folder_that_a_person_put_there_meanwhile_blocks_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    await performed(verb)
    removal = Removal.of(verb.path, str(project.root / ".git"), verb.restore_id)
    removal.begin()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "mine.txt").write_text("mine\n")
    assert (await performed(undo_of(verb)))["removed"] is True
    assert (tmp_path / "linked" / "mine.txt").read_text() == "mine\n"
    assert not removal.has_begun()


async def test_one_that_a_person_made_meanwhile_keeps_its_branch(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    await performed(verb)
    removal = Removal.of(verb.path, str(project.root / ".git"), verb.restore_id)
    removal.begin()
    removal.forget()
    project.git("worktree", "add", "--quiet", verb.path, "new")
    assert (await performed(undo_of(verb)))["deleted_branch"] is None
    assert Repository(tmp_path / "linked").git("branch", "--show-current") == "new"
    assert not removal.has_begun()


async def test_only_a_linked_work_tree_of_this_repository_is_removed(tmp_path: Path) -> None:
    project, other = make_project(tmp_path / "project"), make_project(tmp_path / "other")
    for path in (project.root, other.root):
        verb = RemoveWorktree(
            restore_id="r", repository=str(project.root), path=str(path), sha=project.head(), branch="main"
        )
        assert "is not a linked work tree" in await refused_unchanged(verb, tmp_path)


async def test_a_branch_that_moved_on_keeps_its_work_tree(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    verb = on_new(project, tmp_path / "linked")
    await performed(verb)
    os.rename(tmp_path / "linked", tmp_path / "away")
    project.git("update-ref", "refs/heads/new", project.head())
    assert "branch new moved to" in await refused_unchanged(undo_of(verb), tmp_path)
