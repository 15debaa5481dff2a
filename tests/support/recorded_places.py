"""The places of the Codex recordings, built anew as their agents left them.

The bundle recordings ran in a repository that is kept. Of the others only the record is kept: they get
a small repository with the files they left, and its commit stands in for the recorded one.
"""

import json
import os
from pathlib import Path

from tests.support.codex import ORIGIN, build_scratch_repo, git, install_recording, recording
from tests.support.repository import make_repository

NOTE = "hello from mock\nline two\n"
LEFT: dict[str, tuple[str, dict[str, str]]] = {
    "v171_resumed": (
        "main",
        {"README.md": "# scratch\npatched 8\npatched 2\n", "note_2.txt": NOTE, "note_8.txt": NOTE},
    ),
    "v171_sigkill_midturn": ("feature/x", {"README.md": "# scratch\npatched 25\n", "note_25.txt": NOTE}),
}
"""Branch and files of recordings whose repository is not kept."""


class RecordedPlace:
    """`repo` is the main checkout on `fix/payment`, `linked` the work tree on `wt/export`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repo, self.linked = build_scratch_repo(folder)

    def install(self, name: str, sha: str | None = None) -> str:
        """Put a bundle recording into the Codex home; returns its thread's id. `sha` replaces the
        recorded commit."""
        return _install(name, {"/home/dev/repo-wt": str(self.linked), "/home/dev/repo": str(self.repo)}, sha)

    def remove_linked(self) -> None:
        """Delete the linked work tree, as git does it; its branch stays."""
        git(self.repo, "worktree", "remove", "--force", str(self.linked))


def stand_in(name: str, root: Path) -> str:
    """Make a repository at `root` as this recording left it, and put the recording into the Codex
    home; returns its thread's id."""
    branch, left = LEFT[name]
    repository = make_repository(root)
    repository.git("remote", "add", "origin", ORIGIN)
    sha = repository.commit({"README.md": "# scratch\n"}, "Begin")
    if branch != "main":
        repository.git("switch", "--quiet", "--create", branch)
    repository.write(left)
    return _install(name, {"/home/dev/repo": str(root)}, sha)


def _install(name: str, replacements: dict[str, str], sha: str | None) -> str:
    install_recording(name, Path(os.environ["CODEX_HOME"]), replacements, sha)
    thread: str = json.loads(recording(name).read_bytes().partition(b"\n")[0])["payload"]["id"]
    return thread
