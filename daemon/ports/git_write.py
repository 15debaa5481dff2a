"""The few commands of git that change a repository, without anything that forces or discards.

Whether they may be run is decided by the caller; git's own rules protect uncommitted files.
"""

from resumed.daemon.ports.git_command import GitCommand, Outcome


class GitWriter:
    """Each method runs one command in `folder` and returns how it ended; raises `GitFailed` when it
    could not be run to its end."""

    def __init__(self, command: GitCommand) -> None:
        self._command = command

    async def add_worktree(
        self, folder: str, options: tuple[str, ...], path: str, at: str, by: str
    ) -> Outcome:
        """Make a linked work tree in `path` at a branch or commit, by a restore; `options` as git names
        them."""
        return await self._command.write(
            folder, "worktree", "add", "--quiet", "--no-guess-remote", *options, "--", path, at, by=by
        )

    async def remove_worktree(self, folder: str, path: str) -> Outcome:
        """Remove a linked work tree; git refuses if it is not clean."""
        return await self._command.write(folder, "worktree", "remove", "--", path)

    async def delete_branch(self, folder: str, branch: str, sha: str) -> Outcome:
        """Delete a local branch if it is exactly at `sha`."""
        return await self._command.write(folder, "update-ref", "-d", f"refs/heads/{branch}", sha)

    async def switch(self, folder: str, target: tuple[str, ...], by: str) -> Outcome:
        """Move HEAD and the files, by a restore, to `target`: a branch, or `--detach` and a commit."""
        return await self._command.write(
            folder,
            "switch",
            "--quiet",
            "--no-guess",
            "--no-recurse-submodules",
            "--no-overwrite-ignore",
            *target,
            by=by,
        )
