"""A port to the real git, for tests."""

from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.restore.probes import RepositorySeen


def real_git() -> Git:
    """The port as the daemon has it."""
    return Git(GitCommand())


async def seen_at(path: object) -> RepositorySeen:
    """The repository around the path; fails the test when there is none."""
    seen = await real_git().repository(str(path))
    assert isinstance(seen, RepositorySeen)
    return seen
