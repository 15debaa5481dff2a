"""Looking without restoring: what differs now, and what a Resume would ask first.

Mints nothing and writes nothing: the only effect is `Observe`.
"""

from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from resumed.protocol.restore import Answer, Drift, Severity
from resumed.restore import place_settle
from resumed.restore.applying import Ledger
from resumed.restore.asking import Interview, token_of
from resumed.restore.context import RestoreContext
from resumed.restore.drift import PLACE, questions
from resumed.restore.effects import Effect
from resumed.restore.order import in_restore_order
from resumed.restore.resume import Session, look_at_place, look_at_rest
from resumed.restore.snapshot import Record
from resumed.restore.subsystem import Subsystem, Target
from resumed.restore.unknowns import unknowns


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """All drifts; the round and the token of the first questions (empty when there are none); and
    what could not be looked at and mattered, a short line each. Those about the place come first, and
    what else differs is as it will be once these have the suggested answers."""

    drifts: tuple[Drift, ...]
    round: int
    token: str
    asked: tuple[Drift, ...]
    not_known: tuple[str, ...]


def check(
    record: Record, subsystems: Sequence[Subsystem[Any]], context: RestoreContext
) -> Generator[Effect, Any, Checked]:
    """Look at the place and, where the suggested answers about it lead, at everything else: as a Resume
    that is answered so would ask about it."""
    session = Session(
        record=record,
        context=context,
        order=in_restore_order(subsystems),
        interview=Interview(context=context),
        ledger=Ledger(restore_id=context.restore_id),
        target=Target(
            here=context.here,
            recorded_root=record.states[PLACE].root,
            restore_id=context.restore_id,
        ),
    )
    place = yield from look_at_place(session)
    session.target = _suggested_target(session, place)
    rest: tuple[Drift, ...] = yield from look_at_rest(session)
    first = tuple(d for d in place if d.severity is not Severity.INFORM)
    second = tuple(d for d in rest if d.severity is not Severity.INFORM)
    asked = first or second
    return Checked(
        drifts=(*place, *rest),
        round=1 if first else 2,
        token=token_of(asked) if asked else "",
        asked=asked,
        not_known=unknowns(session.state(PLACE), session.seen, session.target),
    )


def _suggested_target(session: Session, place: tuple[Drift, ...]) -> Target:
    """Where the work would go on; where no suggestion leads anywhere, the place as it stands."""
    state, seen, target = session.state(PLACE), session.seen, session.target
    suggested = {d.id: Answer(choice=d.suggested) for d in place if d.suggested is not None}
    asked = {d.id: suggested[d.id] for d in questions(place, suggested) if d.id in suggested}
    return place_settle.settle(state, seen, asked, target) or place_settle.tentative(state, seen, target)
