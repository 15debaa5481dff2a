from hypothesis import given
from hypothesis import strategies as st

from resumed.protocol.restore import Status
from resumed.protocol.threads import CostView, TokensView
from resumed.restore.events.envelope import Event
from resumed.restore.events.session import Boundary, UsageRecorded
from resumed.restore.subsystem import Restoration
from resumed.restore.subsystems.cost import COST
from tests.support.events import TARGET, assert_stores_anywhere, event, folded

CLEAR = event(Boundary(kind="clear"))
COMPACT = event(Boundary(kind="compact", summary="so far"))


def used(
    usage_id: str, tokens: tuple[int, int, int], bucket: str = "main", cost: float | None = None
) -> Event:
    given_tokens, cached, output = tokens
    return event(
        UsageRecorded(
            usage_id=usage_id,
            input_tokens=given_tokens,
            cached_tokens=cached,
            output_tokens=output,
            bucket=bucket,
            cost=cost,
        )
    )


FIRST = used("r1", (1000, 400, 50))
SECOND = used("r2", (15_261, 1000, 60))
PRICED = used("r3", (10, 0, 1), cost=1.5)
PRICED_TOO = used("r4", (20, 0, 2), cost=0.34)
SQUEEZED = used("r5", (500, 100, 20), "compaction")


def view(*events: Event) -> CostView:
    return COST.view(folded(COST, events))


def restored(*events: Event) -> Restoration:
    return COST.steps(folded(COST, events), {}, {}, TARGET)


def tokens(given_tokens: int, cached: int, output: int) -> TokensView:
    return TokensView(input=given_tokens, cached=cached, output=output)


def test_a_request_counts_once_however_often_it_is_reported() -> None:
    assert view(FIRST, SECOND, FIRST, SECOND, FIRST).total == tokens(16_261, 1400, 110)
    assert view(PRICED, PRICED).usd == 1.5


def test_buckets_add_up_to_the_total() -> None:
    odd = used("r6", (1, 1, 1), "somethingElse")
    seen = view(FIRST, SQUEEZED, odd, used("r7", (7, 0, 7), "subAgent"))
    assert seen.buckets == {
        "main": tokens(1000, 400, 50),
        "compaction": tokens(500, 100, 20),
        "other": tokens(1, 1, 1),
        "subAgent": tokens(7, 0, 7),
    }
    assert seen.total == tokens(1508, 501, 78)


def test_clear_keeps_the_cost_although_one_text_says_it_clears_it() -> None:
    """Two statements disagree: `clear` keeps the cost, and `clear` clears it. Billing is
    cumulative, so it is kept, and a count since the last clear stands beside it."""
    seen = view(FIRST, PRICED, CLEAR)
    assert seen.total == tokens(1010, 400, 51)
    assert seen.since_clear == tokens(0, 0, 0)
    seen = view(FIRST, PRICED, CLEAR, SECOND, PRICED)
    assert seen.total == tokens(16_271, 1400, 111)
    assert seen.since_clear == tokens(15_261, 1000, 60)
    assert "since you cleared: 15,261 tokens in (1,000 from cache), 60 out" in (
        restored(FIRST, CLEAR, SECOND).details
    )


def test_other_boundaries_leave_every_count() -> None:
    reset = event(Boundary(kind="reset"))
    assert view(FIRST, COMPACT, reset) == view(FIRST)


def test_a_cost_that_is_not_known_is_not_zero() -> None:
    assert view(FIRST).usd is None
    assert view(PRICED, PRICED_TOO).usd == 1.84
    assert view(PRICED, FIRST).usd is None
    state = folded(COST, [PRICED, FIRST])
    assert state.partly
    assert state.usd == 1.5


def test_the_summary_says_what_is_known_and_that_it_continues() -> None:
    assert restored(PRICED, PRICED_TOO, COMPACT).summary == "about $1.84 so far, continues"
    assert restored(FIRST, SECOND, COMPACT).summary == (
        "16,261 tokens in, 110 out so far, continues; price not known"
    )
    assert restored(PRICED, FIRST, COMPACT).summary == (
        "at least $1.50 so far, continues; price of 1 request not known"
    )
    tiny = used("r8", (1, 0, 1), cost=0.002)
    assert restored(tiny, COMPACT).summary == "about $0.0020 so far, continues"
    estimate = event(
        UsageRecorded(usage_id="e", input_tokens=10, cached_tokens=0, output_tokens=1, basis="estimate")
    )
    assert restored(estimate, COMPACT).summary.startswith("about 10 tokens in")


def test_the_next_message_re_sends_what_the_last_request_sent() -> None:
    assert restored(PRICED, SECOND, SQUEEZED).summary.endswith(". Next message re-sends ~15k tokens")
    assert restored(PRICED).summary.endswith(". Next message re-sends ~10 tokens")
    assert folded(COST, [SECOND, COMPACT]).last_input is None
    assert folded(COST, [SECOND, CLEAR]).last_input is None


def test_it_is_restored_without_steps_even_when_nothing_was_used() -> None:
    restoration = restored(FIRST)
    assert (restoration.status, restoration.steps) == (Status.RESTORED, ())
    nothing = restored(CLEAR)
    assert nothing.status is Status.RESTORED
    assert nothing.reason == "no usage was recorded"
    assert nothing.summary == "none recorded"


def test_it_looks_at_nothing() -> None:
    state = folded(COST, [FIRST])
    assert COST.probes(state, TARGET) == ()
    assert COST.drift(state, {}, TARGET) == ()


@given(st.lists(st.sampled_from([FIRST, SECOND, PRICED, PRICED_TOO, SQUEEZED, CLEAR, COMPACT]), max_size=12))
def test_the_fold_can_be_stored_anywhere(events: list[Event]) -> None:
    assert_stores_anywhere(COST, events)


@given(st.lists(st.sampled_from([FIRST, SECOND, SQUEEZED, CLEAR]), max_size=20))
def test_redelivery_never_changes_the_total(events: list[Event]) -> None:
    once = list({id(each): each for each in events}.values())
    assert view(*events).total == view(*once).total
