"""The place of the Codex recordings, built anew: the repository they ran in, and a Codex home.

Everything lies below one folder, which stands for the person's `~/dev`.
"""

import json
import os
from pathlib import Path

from tests.support.codex import build_scratch_repo, git, install_recording, recording

LINKED_BRANCH = "wt/export"


class RecordedPlace:
    """`repo` is the main checkout on `fix/payment`, `linked` the work tree on `wt/export`."""

    def __init__(self, folder: Path, codex_home: Path) -> None:
        self.folder = folder
        self.codex_home = codex_home
        self.repo, self.linked = build_scratch_repo(folder)

    def head(self) -> str:
        """The commit of the main checkout."""
        return git(self.repo, "rev-parse", "HEAD")

    def install(self, name: str, sha: str | None = None) -> str:
        """Put a recording into the Codex home, its folders replaced by ours; returns its thread's id.

        `sha` takes the place of the recorded commits, for recordings whose repository is not kept."""
        replacements = {"/home/dev/repo-wt": str(self.linked), "/home/dev/repo": str(self.repo)}
        install_recording(name, self.codex_home, replacements, sha)
        thread: str = json.loads(recording(name).read_bytes().partition(b"\n")[0])["payload"]["id"]
        return thread

    def remove_linked(self) -> None:
        """Delete the linked work tree, as git does it; its branch stays."""
        git(self.repo, "worktree", "remove", "--force", str(self.linked))


def recorded_place(folder: Path) -> RecordedPlace:
    """Build it below `folder`, with the Codex home of the environment."""
    return RecordedPlace(folder, Path(os.environ["CODEX_HOME"]))
