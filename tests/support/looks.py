"""Looks at the recorded place of a story: everything that is seen, and what is judged from it."""

from resumed.restore.place import Place, WorktreeState, judge
from resumed.restore.place_looks import later_probes, place_probes
from resumed.restore.probes import Seen, Unseen
from resumed.restore.subsystem import Here, Target
from tests.support.story import Story

HOME = "/home/dev"


def target_at(root: str, files: tuple[str, ...] | None = None) -> Target:
    """Nothing is settled yet; Resume was pressed in `root`."""
    return Target(
        here=Here(root=root, home=HOME, agent="codex", real_home=HOME), recorded_root="", files_differ=files
    )


def state_of(story: Story) -> WorktreeState:
    """What was recorded of the place."""
    state = story.record.states["worktree"]
    assert isinstance(state, WorktreeState)
    return state


def look(story: Story, root: str) -> tuple[WorktreeState, Seen, Place]:
    """The recorded place, everything seen, and the judgement."""
    state, target = state_of(story), target_at(root)
    seen = observed(story, state, target)
    return state, seen, judge(state, seen, target)


def observed(story: Story, state: WorktreeState, target: Target) -> Seen:
    """All that a restore looks at before it asks about the place."""
    seen = story.world.observe(place_probes(state, target))
    return seen | story.world.observe(later_probes(state, seen, target))


def without(seen: Seen, *probes: type) -> Seen:
    """The same, but looks of these types took too long."""
    return {probe: Unseen("timeout") if isinstance(probe, probes) else seen[probe] for probe in seen}
