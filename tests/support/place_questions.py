"""Questions about the place of a story, and their choices."""

from resumed.protocol.restore import Choice, Drift, DriftKind
from resumed.restore.place import judge
from resumed.restore.place_question import place_question
from tests.support.looks import observed, state_of, target_at, without
from tests.support.situations import SITUATIONS
from tests.support.story import Story


def question(story: Story, root: str, *hidden: type) -> Drift:
    """What is asked about the place; probes of the `hidden` kinds have no answer."""
    target, state = target_at(root), state_of(story)
    seen = without(observed(story, state, target), *hidden)
    return place_question(state, judge(state, seen, target), seen, target)


def of(kind: DriftKind) -> Drift:
    """The question of a kind's usual situation."""
    return question(*SITUATIONS[kind]())


def choice(drift: Drift, choice_id: str) -> Choice:
    """One choice of a question."""
    return next(each for each in drift.choices if each.id == choice_id)
