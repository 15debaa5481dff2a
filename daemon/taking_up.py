"""Which restored runs an agent went on from, told while a thread's events pass in the order of time.

Of a run that ended with its restore only where it is, and what the person went on without, counts until
the agent's own file goes on. Then all of it counts; a run that another one followed before that never does.
"""

from collections.abc import Iterable, Iterator

from resumed.restore.events.envelope import Event
from resumed.restore.events.session import SessionMeta
from resumed.restore.lifecycle import is_of_the_place


class TakingUp:
    """Lets one thread's events pass. `waiting`, once they have: the last run has yet to reach an agent."""

    def __init__(self, own: Iterable[list[Event]], restored: Iterable[list[Event]]) -> None:
        self.waiting = False
        # By identity: the lists keep their events alive.
        self._own = {id(event) for events in own for event in events}
        self._restored = {id(event) for events in restored for event in events}

    def passed(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events that count. What a run that is taken up was told comes right before the agent goes
        on."""
        held: list[Event] = []
        for event in events:
            is_own = id(event) in self._own
            if held and not is_own:
                yield from held
                held = []
            elif is_own and isinstance(event.payload, SessionMeta):
                held = []
            if id(event) in self._restored and not is_of_the_place(event):
                held.append(event)
            else:
                yield event
        self.waiting = bool(held)
