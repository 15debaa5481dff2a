"""A small world for the core: folders, files, repositories with branches and work trees, a ceiling.

It answers every probe and does every verb as the daemon would, in memory. A verb refuses what the
real one refuses, and then changes nothing.
"""

import copy
import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from resumed.restore.effects import NotPerformed, Performed
from resumed.restore.probes import (
    AnyObservation,
    AnyProbe,
    BranchProbe,
    BranchSeen,
    CeilingProbe,
    CeilingSeen,
    CommitProbe,
    CommitSeen,
    FileProbe,
    FileSeen,
    FolderProbe,
    FolderSeen,
    HeadLogProbe,
    HeadLogSeen,
    HistoryProbe,
    HistorySeen,
    LooseProbe,
    LooseSeen,
    NoRepository,
    RegistrationProbe,
    RegistrationSeen,
    RepositoryProbe,
    RepositorySeen,
    Seen,
    SwitchProbe,
    SwitchSeen,
    TreeFileProbe,
    TreeFolderProbe,
    Unseen,
    WorktreeEntry,
)
from resumed.restore.steps import AddWorktree, AnyVerb, RecordState, RemoveWorktree, SwitchBranch

Tree = dict[str, bytes]
NOTHING_KEPT = RegistrationSeen()


def digest(content: bytes) -> str:
    """The SHA-256 of bytes, as in hashes of files."""
    return hashlib.sha256(content).hexdigest()


@dataclass
class Checkout:
    """One work tree. `branch` of `None` is a detached HEAD; `sha` of `None` an unborn branch. Without
    `present` it is only registered: its folder was deleted. `locked` is git's reason to keep it,
    `registration` what git keeps for it; `begun_by` and `moved_by` are the ends of HEAD's log."""

    branch: str | None
    sha: str | None
    kind: str = "main"
    in_progress: str | None = None
    worktree_id: str | None = None
    present: bool = True
    locked: str | None = None
    registration: RegistrationSeen = NOTHING_KEPT
    begun_by: str = field(default="", compare=False)
    moved_by: str = field(default="", compare=False)


@dataclass
class Repository:
    """`commits` maps an id to its files and its parent; `trees` of work trees are by path."""

    name: str
    origin: str | None = None
    repo_id: str | None = None
    commits: dict[str, tuple[Tree, str | None]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Checkout] = field(default_factory=dict)

    def commit(self, branch: str, files: Mapping[str, bytes], parent: str | None = None) -> str:
        """Make a commit with exactly these files, and let the branch point at it."""
        raw = repr((self.name, sorted(files.items()), parent, len(self.commits))).encode()
        sha = hashlib.sha1(raw).hexdigest()
        self.commits[sha] = (dict(files), parent)
        self.branches[branch] = sha
        return sha

    def ancestors(self, sha: str | None) -> list[str]:
        """The commit and all before it."""
        found = []
        while sha is not None and sha in self.commits:
            found.append(sha)
            sha = self.commits[sha][1]
        return found


@dataclass
class World:
    """`hidden` are probes that can't be answered. `recorded` collects what `RecordState` wrote. `links`
    maps a symbolic link to the folder that it leads to; everything else is kept by its real path."""

    folders: set[str] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    repositories: list[Repository] = field(default_factory=list)
    ceiling: CeilingSeen | Unseen = field(default_factory=CeilingSeen)
    hidden: set[AnyProbe] = field(default_factory=set)
    recorded: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)

    def real(self, path: str) -> str:
        """The path with its links resolved."""
        for link, to in self.links.items():
            if _inside(path, link):
                return to + path[len(link) :]
        return path

    def outside(self) -> tuple[object, ...]:
        """Everything but what was recorded in the run's own stream, for comparing."""
        return copy.deepcopy((self.folders, self.files, self.repositories))

    def check_out(self, repository: Repository, path: str, branch: str | None, kind: str = "main") -> None:
        """Put a work tree of the repository there, on the branch."""
        sha = repository.branches.get(branch or "")
        repository.trees[path] = Checkout(branch, sha, kind)
        self.folders.add(path)
        for name, content in _tree(repository, sha).items():
            self.files[posixpath.join(path, name)] = content

    def remove_folder(self, path: str) -> None:
        """Delete the folder and all in it, as `rm -rf` does: git does not hear of it."""
        self.folders = {folder for folder in self.folders if not _inside(folder, path)}
        self.files = {name: content for name, content in self.files.items() if not _inside(name, path)}
        for repository in self.repositories:
            for top, tree in repository.trees.items():
                tree.present = tree.present and not _inside(top, path)

    def rename(self, path: str, to: str) -> None:
        """Move a folder; a main work tree takes its repository along."""

        def moved(name: str) -> str:
            return to + name[len(path) :] if _inside(name, path) else name

        self.folders = {moved(folder) for folder in self.folders}
        self.files = {moved(name): content for name, content in self.files.items()}
        for repository in self.repositories:
            repository.trees = {
                moved(top) if tree.kind == "main" else top: tree for top, tree in repository.trees.items()
            }

    def move_head(self, path: str, branch: str) -> None:
        """Switch as a person would, keeping what is not committed."""
        repository = self.around(path)
        assert repository is not None
        tree = repository.trees[path]
        self._move(repository, path, tree.sha, repository.branches[branch])
        tree.branch, tree.sha, tree.moved_by = branch, repository.branches[branch], ""

    def around(self, path: str) -> Repository | None:
        """The repository that the path is in."""
        top = self._top(path)
        return next((each for each in self.repositories if top in each.trees), None) if top else None

    def uncommitted(self, path: str) -> set[str]:
        """Files of the work tree, relative, that are not as in its commit."""
        repository = self.around(path)
        assert repository is not None
        tree = _tree(repository, repository.trees[path].sha)
        here = self._files_in(path)
        return {name for name in {*tree, *here} if tree.get(name) != here.get(name)}

    def observe(self, probes: tuple[AnyProbe, ...]) -> Seen:
        """Answer all probes."""
        return {probe: Unseen("timeout") if probe in self.hidden else self._look(probe) for probe in probes}

    def perform(self, verb: AnyVerb) -> Performed | NotPerformed:
        """Do one verb."""
        match verb:
            case RecordState(events=events):
                self.recorded.extend(events)
                return Performed()
            case AddWorktree():
                return self._add(verb)
            case RemoveWorktree():
                return self._remove(verb)
            case SwitchBranch():
                return self._switch(verb)
            case _:
                assert_never(verb)

    def _look(self, probe: AnyProbe) -> AnyObservation:
        match probe:
            case FolderProbe(path):
                return self._folder(path)
            case RepositoryProbe(path):
                return self._repository(path)
            case FileProbe(path):
                return _file(self.files.get(self.real(path)))
            case CeilingProbe():
                return self.ceiling
            case BranchProbe(path) | CommitProbe(path) | HistoryProbe(path):
                pass
            case SwitchProbe(path) | TreeFileProbe(path) | TreeFolderProbe(path):
                pass
            case LooseProbe(path) | RegistrationProbe(path) | HeadLogProbe(path):
                pass
            case _:
                assert_never(probe)
        repository, top = self.around(path), self._top(path)
        if repository is None or top is None:
            return Unseen("failed: no repository")
        return self._in_repository(probe, repository, top)

    def _in_repository(self, probe: AnyProbe, repository: Repository, top: str) -> AnyObservation:
        match probe:
            case BranchProbe(branch=branch):
                at = next((path for path, tree in repository.trees.items() if tree.branch == branch), None)
                return BranchSeen(sha=repository.branches.get(branch), checked_out_at=at)
            case CommitProbe(sha=sha):
                return CommitSeen(sha in repository.commits, _tree_id(repository, sha))
            case HistoryProbe(sha=sha, branch=branch):
                tip = repository.trees[top].sha if branch is None else repository.branches.get(branch)
                return HistorySeen(_relation(repository, sha, tip))
            case LooseProbe(sha=sha):
                held = {each for tip in repository.branches.values() for each in repository.ancestors(tip)}
                return LooseSeen(sha not in held)
            case RegistrationProbe(worktree=worktree):
                entry = repository.trees.get(worktree)
                return entry.registration if entry is not None else NOTHING_KEPT
            case HeadLogProbe():
                checkout = repository.trees[top]
                return HeadLogSeen(begun_by=checkout.begun_by, moved_by=checkout.moved_by)
            case SwitchProbe(branch=branch):
                return self._in_the_way(repository, top, repository.branches.get(branch))
            case TreeFileProbe(sha=sha, relative=relative) | TreeFolderProbe(sha=sha, relative=relative):
                tree = _tree(repository, sha)
                if any(name.startswith(f"{relative}/") for name in tree):
                    return FileSeen(kind="folder")
                return _file(tree.get(relative))
            case _:
                raise AssertionError(probe)

    def _folder(self, path: str) -> FolderSeen:
        real = self.real(path)
        there = any(_inside(known, real) for known in (*self.folders, *self.files))
        kind = "file" if real in self.files else "folder" if there else "absent"
        return FolderSeen(kind, canonical=real)

    def _repository(self, path: str) -> RepositorySeen | NoRepository:
        repository, top = self.around(path), self._top(path)
        if repository is None or top is None:
            return NoRepository()
        tree = repository.trees[top]
        return RepositorySeen(
            top_level=top,
            git_dir=f"{top}/.git",
            common_dir=f"{repository.name}.git",
            common_id=repository.name,
            kind=tree.kind,
            branch=tree.branch,
            sha=tree.sha,
            tree=_tree_id(repository, tree.sha),
            detached=tree.branch is None,
            unborn=tree.sha is None,
            in_progress=tree.in_progress,
            origin=repository.origin,
            repo_id=repository.repo_id,
            worktree_id=tree.worktree_id,
            worktrees=tuple(
                WorktreeEntry(each, known.branch, known.sha, not known.present, known.locked)
                for each, known in sorted(repository.trees.items())
            ),
        )

    def _add(self, verb: AddWorktree) -> Performed | NotPerformed:
        repository = self.around(verb.repository)
        if repository is None or self._folder(verb.path).kind != "absent":
            return NotPerformed("something is in the way")
        if verb.sha not in repository.commits:
            return NotPerformed("the commit is not there")
        holders = [
            path for path, tree in repository.trees.items() if verb.branch and tree.branch == verb.branch
        ]
        if any(path != verb.path for path in holders):
            return NotPerformed("the branch is checked out elsewhere")
        before = repository.trees.get(verb.path)
        if before is not None and before.registration != NOTHING_KEPT:
            return NotPerformed("what git keeps of it would be lost")
        if before is not None and verb.registered_at not in (f"refs/heads/{before.branch}", before.sha):
            return NotPerformed("what git has registered there changed")
        if verb.branch is not None:
            made = verb.create_branch and verb.branch not in repository.branches
            if not made and repository.branches.get(verb.branch) != verb.sha:
                return NotPerformed("the branch is not where it was")
            repository.branches[verb.branch] = verb.sha
        repository.trees[verb.path] = Checkout(
            verb.branch, verb.sha, "linked", begun_by=verb.restore_id, moved_by=verb.restore_id
        )
        self.folders.add(verb.path)
        self._move(repository, verb.path, None, verb.sha)
        return Performed()

    def _remove(self, verb: RemoveWorktree) -> Performed | NotPerformed:
        repository = self.around(verb.repository)
        tree = repository.trees.get(verb.path) if repository else None
        if repository is not None and (tree is None or not tree.present):
            # Taken back before.
            if verb.delete_branch and verb.branch is not None:
                repository.branches.pop(verb.branch, None)
            return Performed()
        if repository is None or tree is None or (tree.branch, tree.sha) != (verb.branch, verb.sha):
            return NotPerformed("it is not as it was made")
        if tree.begun_by != verb.restore_id:
            return NotPerformed("somebody else made it")
        if self.uncommitted(verb.path):
            return NotPerformed("it holds files that would be lost")
        self.remove_folder(verb.path)
        if verb.registered_at is None:
            del repository.trees[verb.path]
        else:
            branch = verb.registered_at.removeprefix("refs/heads/")
            is_branch = branch != verb.registered_at
            tree.branch, tree.present = (branch if is_branch else None), False
            tree.sha = repository.branches.get(branch) if is_branch else branch
        if verb.delete_branch and verb.branch is not None:
            del repository.branches[verb.branch]
        return Performed()

    def _switch(self, verb: SwitchBranch) -> Performed | NotPerformed:
        repository = self.around(verb.root)
        tree = repository.trees.get(verb.root) if repository else None
        if tree is not None and (tree.branch, tree.sha) == (verb.to_branch, verb.to_sha):
            return Performed()
        if repository is None or tree is None or (tree.branch, tree.sha) != (verb.from_branch, verb.from_sha):
            return NotPerformed("HEAD is not where it was")
        if verb.moved_by is not None and tree.moved_by != verb.moved_by:
            return NotPerformed("somebody else moved HEAD")
        if verb.to_branch is not None and repository.branches.get(verb.to_branch) != verb.to_sha:
            return NotPerformed("the branch is not where it was")
        if self._in_the_way(repository, verb.root, verb.to_sha).overwritten:
            return NotPerformed("it would overwrite uncommitted files")
        self._move(repository, verb.root, tree.sha, verb.to_sha)
        tree.branch, tree.sha, tree.moved_by = verb.to_branch, verb.to_sha, verb.restore_id
        return Performed()

    def _move(self, repository: Repository, path: str, before: str | None, after: str) -> None:
        old, new = _tree(repository, before), _tree(repository, after)
        for name in {*old, *new}:
            if old.get(name) == new.get(name):
                continue
            if name in new:
                self.files[posixpath.join(path, name)] = new[name]
            else:
                self.files.pop(posixpath.join(path, name), None)

    def _in_the_way(self, repository: Repository, path: str, sha: str | None) -> SwitchSeen:
        old, new = _tree(repository, repository.trees[path].sha), _tree(repository, sha)
        changed = self.uncommitted(path)
        overwritten = {name for name in changed if old.get(name) != new.get(name)}
        return SwitchSeen(
            overwritten=tuple(sorted(overwritten)), carried=tuple(sorted(changed - overwritten))
        )

    def _files_in(self, path: str) -> Tree:
        return {
            name[len(path) + 1 :]: content
            for name, content in self.files.items()
            if _inside(name, path) and self._top(name) == path
        }

    def _top(self, path: str) -> str | None:
        if self._folder(path).kind == "absent":
            return None
        tops = [top for each in self.repositories for top, tree in each.trees.items() if tree.present]
        around = [top for top in tops if _inside(self.real(path), top)]
        return max(around, key=len) if around else None


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _file(content: bytes | None) -> FileSeen:
    if content is None:
        return FileSeen(kind="absent")
    return FileSeen(kind="regular", sha256=digest(content), size=len(content), content=content)


def _tree(repository: Repository, sha: str | None) -> Tree:
    return repository.commits[sha][0] if sha in repository.commits else {}


def _tree_id(repository: Repository, sha: str | None) -> str | None:
    if sha not in repository.commits:
        return None
    return hashlib.sha1(repr(sorted(repository.commits[sha][0].items())).encode()).hexdigest()


def _relation(repository: Repository, sha: str, head: str | None) -> str:
    if sha == head:
        return "same"
    if sha in repository.ancestors(head):
        return "ancestor"
    return "descendant" if head in repository.ancestors(sha) else "diverged"
