"""Does one verb of a restore, or says why not.

Nothing is forced or discarded. What is done is checked afterwards; what was not done changed nothing,
and where that cannot be said the reason names what is left.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import assert_never

from resumed.daemon.perform_checks import Refused, Tools
from resumed.daemon.perform_switch import switch_branch
from resumed.daemon.perform_worktrees import add_worktree, remove_worktree
from resumed.daemon.ports.git_command import GitFailed
from resumed.daemon.registrations import NotCopied
from resumed.restore.effects import NotPerformed, Performed
from resumed.restore.steps import AddWorktree, AnyVerb, RecordState, RemoveWorktree, SwitchBranch

Record = Callable[[RecordState], Awaitable[Performed | NotPerformed]]


@dataclass(frozen=True)
class Performer:
    """Performs verbs with the tools given; `record` does `RecordState`."""

    tools: Tools
    record: Record

    async def perform(self, verb: AnyVerb) -> Performed | NotPerformed:
        """Do the verb. Done already is done: the same verb twice has the effect of once."""
        try:
            match verb:
                case AddWorktree():
                    return Performed(await add_worktree(self.tools, verb))
                case RemoveWorktree():
                    return Performed(await remove_worktree(self.tools, verb))
                case SwitchBranch():
                    return Performed(await switch_branch(self.tools, verb))
                case RecordState():
                    return await self.record(verb)
                case _:
                    assert_never(verb)
        except Refused as refusal:
            return NotPerformed(refusal.sentence, left=refusal.left)
        except (GitFailed, NotCopied) as failure:
            return NotPerformed(failure.sentence)
        except OSError as error:
            return NotPerformed(f"the system refused: {error.strerror}")
