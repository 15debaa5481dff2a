import pytest

from resumed.protocol.restore import Difference
from resumed.restore.place_head import branch_relation
from resumed.restore.place_names import branch_moved, branch_moved_row, head_now, head_then
from resumed.restore.probes import HistoryProbe
from tests.support.looks import look, without
from tests.support.story import BRANCH, README, REPO_A, Story, payments


def on_main(became: str) -> Story:
    """The work tree is on main, and the branch is not at the recorded commit any more."""
    story = payments()
    if became == "has new commits since":
        story.commit({"README.md": b"# More\n"})
    elif became == "was rewritten since":
        story.rewrite({"README.md": README})
    else:
        story.payments.branches[BRANCH] = story.payments.branches["main"]
    story.world.move_head(REPO_A, "main")
    return story


@pytest.mark.parametrize(
    ("relation", "became"),
    [
        ("ancestor", "has new commits since"),
        ("diverged", "was rewritten since"),
        ("descendant", "was set back to an older commit"),
    ],
)
def test_how_a_branch_moved_while_another_one_is_checked_out(relation: str, became: str) -> None:
    story = on_main(became)
    state, seen, place = look(story, REPO_A)
    assert branch_relation(state, place, seen) == relation
    old, new = story.recorded_sha()[:7], story.payments.branches[BRANCH][:7]
    at = f"it is at {new} now (when the run began: {old})."
    assert branch_moved(state, place, seen) == f" {BRANCH} {became}: {at}"
    assert branch_moved_row(state, place, seen) == (
        Difference(what="commit", recorded=old, now=f"{new} on {BRANCH}"),
    )
    hidden = without(seen, HistoryProbe)
    assert branch_moved(state, place, hidden) == f" {BRANCH} has moved: {at}"


def test_a_branch_that_stayed_where_it_was_is_no_news() -> None:
    story = payments()
    story.world.move_head(REPO_A, "main")
    state, seen, place = look(story, REPO_A)
    assert branch_moved(state, place, seen) == ""
    assert branch_moved_row(state, place, seen) == ()
    assert head_then(state) == f"{BRANCH} ({story.recorded_sha()[:7]})"
    assert place.repository is not None
    assert head_now(place.repository) == f"main ({story.payments.branches['main'][:7]})"
