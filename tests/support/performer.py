"""A performer over the real git, for tests."""

from resumed.daemon.perform import Performer
from resumed.daemon.perform_checks import Tools
from resumed.daemon.ports.git import Git
from resumed.daemon.ports.git_command import GitCommand
from resumed.daemon.ports.git_write import GitWriter
from resumed.daemon.registrations import Registrations
from resumed.daemon.runtime import state_folder
from resumed.restore.effects import NotPerformed, Performed
from resumed.restore.steps import AnyVerb, RecordState


async def nothing_recorded(verb: RecordState) -> NotPerformed:
    """Stands for the journal, which these tests do not reach."""
    return NotPerformed(f"{len(verb.events)} events were not recorded")


def real_performer(program: str = "git", patience: float = 0.0) -> Performer:
    """Performs with the git `program`; waits `patience` seconds for another git to end."""
    command = GitCommand(program)
    registrations = Registrations(state_folder() / "rescue")
    return Performer(Tools(Git(command), GitWriter(command), registrations, patience), nothing_recorded)


async def perform(verb: AnyVerb) -> Performed | NotPerformed:
    """Perform one verb with the real git."""
    return await real_performer().perform(verb)


async def performed(verb: AnyVerb) -> dict[str, object]:
    """Perform one verb and return its evidence; fails the test when it is not performed."""
    outcome = await perform(verb)
    assert isinstance(outcome, Performed), outcome
    return outcome.evidence


async def refused(verb: AnyVerb) -> str:
    """Why one verb is not performed; fails the test when it is."""
    outcome = await perform(verb)
    assert isinstance(outcome, NotPerformed), outcome
    return outcome.reason
