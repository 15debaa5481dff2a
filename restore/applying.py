"""Steps, one after the other: check what they expect, journal, do, check what they ensure.

The journal is written before and after each step, so that another process can tell after a crash
which steps may have had an effect.
"""

from collections.abc import Generator
from typing import Any

import msgspec

from resumed.restore.effects import Effect, Journal, NotPerformed, Observe, Perform, Performed, Progress
from resumed.restore.events.journal import RestoreStep
from resumed.restore.probes import Seen
from resumed.restore.steps import Condition, Step, holds, probe_of
from resumed.restore.wording import with_short_paths


class Done(msgspec.Struct, frozen=True):
    """A step that was done, with its number in the journal."""

    n: int
    step: Step


class Ledger(msgspec.Struct, kw_only=True):
    """The steps of one restore: how many there are, which are done, and whether one that failed left
    something behind. `homes` are the paths of the home folder, for wording."""

    restore_id: str
    homes: tuple[str, ...] = ()
    of: int = 0
    n: int = 0
    done: list[Done] = []
    left: bool = False


def apply_step(ledger: Ledger, step: Step) -> Generator[Effect, Any, str | None]:
    """Do one step. Returns `None`, or why it was not done; then it changed nothing, unless the ledger
    says so."""
    obstacle = yield from _unmet(step.expects)
    if obstacle is not None:
        return with_short_paths(f"{obstacle}; it changed while this was being restored", *ledger.homes)
    ledger.n += 1
    n = ledger.n
    yield Journal(RestoreStep(restore_id=ledger.restore_id, n=n, state="begun"))
    yield _progress(ledger, n, step, "begun")
    reply: Performed | NotPerformed = yield Perform(step.do)
    reason = reply.reason if isinstance(reply, NotPerformed) else (yield from _unmet(step.ensures))
    if reason is None and isinstance(reply, Performed):
        evidence = dict(reply.evidence)
        yield Journal(RestoreStep(restore_id=ledger.restore_id, n=n, state="done", evidence=evidence))
        yield _progress(ledger, n, step, "done")
        ledger.done.append(Done(n, step))
        return None
    if isinstance(reply, Performed):
        ledger.done.append(Done(n, step))
    else:
        ledger.left = ledger.left or reply.left
    yield Journal(
        RestoreStep(restore_id=ledger.restore_id, n=n, state="failed", evidence={"reason": reason or ""})
    )
    yield _progress(ledger, n, step, "failed")
    return with_short_paths(reason, *ledger.homes) if reason else "it could not be verified"


def roll_back(ledger: Ledger) -> Generator[Effect, Any, tuple[str, ...]]:
    """Undo every done step, last first. Returns what could not be undone, a sentence each; those steps
    stay in the ledger as done."""
    stuck: list[str] = []
    stays: list[Done] = []
    for done in reversed(ledger.done):
        if done.step.undo is None:
            continue
        yield Journal(RestoreStep(restore_id=ledger.restore_id, n=done.n, state="undoing"))
        reply: Performed | NotPerformed = yield Perform(done.step.undo)
        if isinstance(reply, NotPerformed):
            reason = with_short_paths(reply.reason.rstrip("."), *ledger.homes)
            stuck.append(f"“{done.step.title}” could not be undone: {reason}.")
            stays.append(done)
            continue
        yield Journal(RestoreStep(restore_id=ledger.restore_id, n=done.n, state="undone"))
        yield _progress(ledger, done.n, done.step, "undone")
    ledger.done = stays[::-1]
    return tuple(stuck)


def _unmet(conditions: tuple[Condition, ...]) -> Generator[Effect, Any, str | None]:
    if not conditions:
        return None
    seen: Seen = yield Observe(tuple(dict.fromkeys(probe_of(condition) for condition in conditions)))
    for condition in conditions:
        if holds(condition, seen) is not True:
            return f"{condition.path} is not as expected"
    return None


def _progress(ledger: Ledger, n: int, step: Step, state: str) -> Progress:
    return Progress(n=n, of=ledger.of, subsystem=step.subsystem, title=step.title, state=state)
