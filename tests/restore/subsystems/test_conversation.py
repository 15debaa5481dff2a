import msgspec
from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.protocol.threads import ConversationView
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import (
    Boundary,
    EntryAdded,
    EntryAmended,
    LeafMoved,
    SessionEnded,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.conversation import (
    CONVERSATION,
    ENTRIES_REMEMBERED,
    TURNS_REMEMBERED,
    ConversationState,
)
from tests.support.events import TARGET, assert_stores_anywhere, event, folded


def said(
    entry: str | None, text: str = "words", *, role: str = "assistant", turn: str | None = None
) -> Event:
    return event(EntryAdded(kind="message", role=role, text=text), entry=entry, turn=turn)


def asked(entry: str, turn: str | None, text: str = "please") -> Event:
    return said(entry, text, role="user", turn=turn)


def other(entry: str, kind: str, *, in_context: bool = True) -> Event:
    return event(EntryAdded(kind=kind, role="assistant", text="…", in_context=in_context), entry=entry)


def began(turn: str, provenance: str = "user") -> Event:
    return event(TurnStarted(turn_id=turn, provenance=provenance), turn=turn)


def ended(turn: str) -> Event:
    return event(TurnEnded(turn_id=turn, status="completed"), turn=turn)


def bounded(kind: str, first_kept: str | None = None, summary: str = "") -> Event:
    return event(Boundary(kind=kind, first_kept=first_kept, summary=summary))


def moved(leaf: str) -> Event:
    return event(LeafMoved(leaf_id=leaf, cause="rewind"))


def state_after(*events: Event) -> ConversationState:
    state = folded(CONVERSATION, events)
    assert isinstance(state, ConversationState)
    return state


def view(*events: Event) -> ConversationView:
    return CONVERSATION.view(state_after(*events))


def restored(*events: Event) -> Restoration:
    return CONVERSATION.steps(state_after(*events), {}, {}, TARGET)


FIVE = [said(name) for name in "abcde"]
SUMMARY = "what was done so far"


def test_turns_of_the_user_and_of_the_goal_are_told_apart() -> None:
    seen = view(
        began("t1"),
        asked("a", "t1"),
        asked("b", "t1"),
        ended("t1"),
        began("t2", "goal"),
        said("c", turn="t2"),
        ended("t2"),
        began("t3", "goal"),
        asked("d", "t3"),
        began("t4"),
        said("e", turn="t4"),
    )
    assert (seen.user_turns, seen.goal_turns, seen.entries) == (2, 1, 5)


def test_a_message_without_a_turn_belongs_to_the_open_one() -> None:
    assert view(began("t1"), asked("a", None)).user_turns == 1
    assert view(asked("a", None)).user_turns == 0


def test_only_messages_of_the_user_make_a_turn_theirs() -> None:
    context = event(EntryAdded(kind="context", role="user", text="rules"), entry="a", turn="t1")
    assert view(began("t1"), context).user_turns == 0


def test_first_and_last_message_are_one_bounded_line() -> None:
    hidden = event(EntryAdded(kind="message", role="user", text="hidden", display=False), entry="h")
    seen = view(
        hidden, asked("a", "t1", "fix\n  the rounding"), said("b", "x" * 900), other("c", "reasoning")
    )
    assert seen.first_message == "fix the rounding"
    assert len(seen.last_message) == 200
    assert seen.last_message.endswith("x…")
    assert view().first_message == view().last_message == ""


def test_amendments_reach_the_first_and_last_message() -> None:
    amended = event(EntryAmended(target_id="a", text="better"))
    seen = view(said("a", "bad"), amended)
    assert (seen.first_message, seen.last_message) == ("better", "better")
    state = state_after(said("a", "bad"), said("b", "last"), amended)
    assert state.first is not None
    assert state.last is not None
    assert (state.first.text, state.last.text, state.amendments) == ("better", "last", 1)


def test_an_entry_that_comes_again_counts_once() -> None:
    seen = view(said("a", "draft"), said("a", "final"))
    assert (seen.entries, seen.in_window, seen.last_message) == (1, 1, "final")


def test_without_a_boundary_the_model_sees_all_that_is_in_its_context() -> None:
    assert view(*FIVE, other("f", "context", in_context=False)).in_window == 5


def test_compaction_leaves_the_summary_once_and_what_was_kept() -> None:
    seen = view(*FIVE, bounded("compact", "d", SUMMARY), said("f"))
    assert (seen.entries, seen.in_window, seen.compactions) == (6, 1 + 2 + 1, 1)


def test_a_summary_that_is_also_an_entry_counts_once() -> None:
    assert view(*FIVE, bounded("compact", "d", SUMMARY), other("s", "summary"), said("f")).in_window == 4
    assert view(*FIVE, bounded("compact"), other("s", "summary"), said("f")).in_window == 2


def test_a_later_summary_is_an_entry_of_its_own() -> None:
    branch = other("s", "summary")
    assert view(*FIVE, bounded("compact", None, SUMMARY), said("f"), branch).in_window == 3


def test_reset_then_compaction_leaves_summary_and_kept() -> None:
    seen = view(*FIVE, bounded("reset"), said("f"), said("g"), bounded("compact", "g", SUMMARY))
    assert seen.in_window == 2


def test_compaction_then_reset_leaves_nothing_from_before_the_reset() -> None:
    assert view(*FIVE, bounded("compact", "d", SUMMARY), said("f"), bounded("reset")).in_window == 0
    assert view(*FIVE, bounded("compact", "d", SUMMARY), said("f"), bounded("reset", "f")).in_window == 1


def test_only_a_compaction_counts_as_one() -> None:
    assert view(*FIVE, bounded("reset"), bounded("clear"), bounded("compact")).compactions == 1


def test_older_summaries_and_messages_never_reappear() -> None:
    twice = [*FIVE, bounded("compact", "d", SUMMARY), said("f"), bounded("compact", "e", SUMMARY), said("g")]
    assert view(*twice).in_window == 1 + 2 + 1
    assert view(*FIVE, bounded("reset"), said("f"), bounded("compact", "a", SUMMARY)).in_window == 1


def test_clear_empties_the_context_but_not_the_record() -> None:
    seen = view(asked("a", "t1"), *FIVE[1:], bounded("clear", "c", SUMMARY), said("f"))
    assert (seen.entries, seen.in_window, seen.user_turns, seen.first_message) == (6, 1, 1, "please")
    summarised = state_after(*FIVE, bounded("clear"), other("s", "summary"))
    assert (summarised.in_window, summarised.summary) == (1, False)


def test_what_was_kept_by_an_id_that_is_not_in_the_window_is_doubted() -> None:
    for events in ([*FIVE], [said("x"), bounded("reset"), *FIVE]):
        state = state_after(*events, bounded("compact", "x" if len(events) > 5 else "nowhere", SUMMARY))
        assert state.in_window == 1
        assert "not known" in state.doubt
    later = state_after(*FIVE, bounded("compact", "nowhere", SUMMARY), bounded("compact", None, SUMMARY))
    assert later.doubt == ""
    assert restored(*FIVE, bounded("compact", "nowhere")).details[0].startswith("What was kept")


def test_a_boundary_of_a_kind_we_do_not_know_opens_no_window() -> None:
    assert view(*FIVE, bounded("something", "d", SUMMARY)) == view(*FIVE)


def test_going_on_from_an_earlier_entry_leaves_the_later_ones_out() -> None:
    seen = view(*FIVE, moved("b"), said("f"))
    assert (seen.entries, seen.in_window) == (6, 3)
    assert view(*FIVE, moved("e")).in_window == 5
    assert view(*FIVE, moved("b")).last_message == ""
    assert "not known" in state_after(*FIVE, moved("b"), bounded("compact", "d")).doubt


def test_going_on_from_outside_the_window_is_doubted() -> None:
    compacted = [*FIVE, bounded("compact", "d", SUMMARY), said("f")]
    for leaf in ("a", "d", "nowhere"):
        assert "earlier place" in state_after(*compacted, moved(leaf)).doubt
    assert state_after(*compacted, moved("f")).doubt == ""


def test_a_turn_without_an_end_is_open() -> None:
    assert state_after(began("t1")).open_turn == "t1"
    assert state_after(began("t1"), ended("t1")).open_turn is None
    assert state_after(began("t1"), began("t2"), ended("t1")).open_turn == "t2"


def test_a_clean_end_of_the_run_ends_its_turn_and_a_crash_does_not() -> None:
    for clean, still_open in ((True, None), (False, "t1")):
        end = event(SessionEnded(reason="exit", clean=clean))
        assert state_after(began("t1"), end).open_turn == still_open


def test_the_state_is_bounded() -> None:
    entries = 4 * ENTRIES_REMEMBERED
    many = [asked(f"entry-{n}", f"turn-{n}", "x" * 5000) for n in range(entries)]
    state = state_after(*many)
    assert ENTRIES_REMEMBERED <= len(state.positions) < 1.3 * ENTRIES_REMEMBERED
    assert TURNS_REMEMBERED <= len(state.turns) < 1.3 * TURNS_REMEMBERED
    assert len(msgspec.msgpack.encode(state)) < 150_000
    assert (state.entries, state.user_turns, state.in_window) == (entries, entries, entries)
    kept = state_after(*many, bounded("compact", f"entry-{entries - 10}"))
    assert (kept.in_window, kept.doubt) == (10, "")
    assert state_after(*many, bounded("compact", "entry-0")).in_window == 0


def test_it_is_restored_as_recorded() -> None:
    restoration = restored(began("t1"), asked("a", "t1"), said("b"), ended("t1"))
    assert restoration.status is Status.RESTORED
    assert restoration.summary == "2 entries, 1 turn of yours; never shortened"
    assert restoration.details == ("last said: words",)
    assert restoration.steps == ()


def test_the_summary_says_what_the_agent_sees_and_what_was_cut_off() -> None:
    goal = [began("t2", "goal"), said("f", turn="t2")]
    assert restored(*FIVE, bounded("compact", "d", SUMMARY), *goal).summary == (
        "6 entries, 1 turn for its goal; compacted, the agent sees a summary and 3 of them."
        " The last turn was cut off"
    )
    assert restored(*FIVE, bounded("clear")).summary == "5 entries; cleared, the agent sees 0 of them"
    assert restored(*FIVE, bounded("reset", "e")).summary == "5 entries; reset, the agent sees 1 of them"
    assert "compacted 2 times" in restored(*FIVE, bounded("compact"), bounded("compact")).summary


def test_nothing_recorded_is_said() -> None:
    restoration = restored(began("t1"))
    assert restoration.status is Status.RESTORED
    assert restoration.reason == "no entries were recorded"


def test_it_looks_at_nothing() -> None:
    state = state_after(*FIVE)
    assert CONVERSATION.probes(state, TARGET) == ()
    assert CONVERSATION.drift(state, {}, TARGET) == ()


POOL = [
    *(said(name) for name in "abc"),
    asked("u", "t1"),
    other("s", "summary"),
    other("x", "context", in_context=False),
    *(began(turn, provenance) for turn, provenance in (("t1", "user"), ("t2", "goal"))),
    ended("t1"),
    *(bounded(kind, kept, SUMMARY) for kind in ("compact", "reset", "clear") for kept in ("b", None)),
    moved("a"),
    event(EntryAmended(target_id="a", text="better")),
]


@given(st.lists(st.sampled_from(POOL), max_size=14))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(CONVERSATION, events)


@given(st.lists(st.sampled_from(POOL), max_size=20))
def test_the_window_never_holds_more_than_was_said(events: list[Event]) -> None:
    state = state_after(*events)
    assert 0 <= state.window_start <= state.position <= state.entries
    assert state.in_window <= state.entries + 1
