"""Builds real git repositories for tests, away from any configuration of the machine."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

IDENTITY = (
    "-c",
    "user.name=Test",
    "-c",
    "user.email=test@example.invalid",
    "-c",
    "protocol.file.allow=always",
)


def git_environment() -> dict[str, str]:
    """The environment for git in tests: no configuration, no inherited `GIT_*`, fixed times."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
        "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
        "GIT_EDITOR": "true",
        "LC_ALL": "C",
    }


def run_git(folder: Path, *arguments: str, ends_with: int = 0) -> str:
    """Run git in `folder` and return its output; fails the test unless it ends with `ends_with`."""
    done = subprocess.run(
        ["git", *IDENTITY, *arguments],
        cwd=folder,
        env=git_environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == ends_with, done.stderr.decode(errors="replace")
    return os.fsdecode(done.stdout).removesuffix("\n")


@dataclass(frozen=True)
class Repository:
    """A work tree (or bare repository) at `root`."""

    root: Path

    def git(self, *arguments: str, ends_with: int = 0) -> str:
        """Run git here."""
        return run_git(self.root, *arguments, ends_with=ends_with)

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files by relative path; `None` deletes."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write files, commit everything, and return the commit's id."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head()

    def head(self) -> str:
        """The commit that HEAD is at."""
        return self.git("rev-parse", "HEAD")

    def branch_at(self, name: str) -> str:
        """The commit of a branch."""
        return self.git("rev-parse", f"refs/heads/{name}")

    def worktree(self, path: Path, *arguments: str) -> "Repository":
        """Add a linked work tree; `arguments` follow the path, options come first in `arguments`."""
        self.git("worktree", "add", "--quiet", str(path), *arguments)
        return Repository(path)


def make_repository(root: Path, *options: str) -> Repository:
    """An empty repository with the branch `main`; `options` go to `git init`."""
    root.mkdir(parents=True, exist_ok=True)
    run_git(root, "init", "--quiet", "--initial-branch=main", *options)
    return Repository(root)


def make_project(root: Path, *options: str) -> Repository:
    """A repository with one commit on `main`, and a branch `feature` with one commit more that changes
    `shared.txt` and adds `added.txt`. `kept.txt` is the same on both."""
    repository = make_repository(root, *options)
    repository.commit({"shared.txt": "one\n", "kept.txt": "kept\n"}, "first")
    repository.git("switch", "--quiet", "--create", "feature")
    repository.commit({"shared.txt": "two\n", "added.txt": "added\n"}, "second")
    repository.git("switch", "--quiet", "main")
    return repository


def every_byte(root: Path) -> dict[str, bytes]:
    """All files, links and folders under `root` by relative path: a folder is `/`, a link its target."""
    found: dict[str, bytes] = {}
    for folder, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if os.path.islink(path):
                found[relative] = os.fsencode(os.readlink(path))
            elif os.path.isdir(path):
                found[relative] = b"/"
            else:
                with open(path, "rb") as file:
                    found[relative] = file.read()
    return found
