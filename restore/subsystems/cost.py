"""What the thread has used so far. It only ever goes on: no restore, window or `clear` resets it.

Every request counts once, by its `usage_id`; a cost that is not known is never taken for zero.
"""

import hashlib
from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import CostView, TokensView
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import Boundary, UsageRecorded
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import count

BUCKETS = {"main": "conversation", "compaction": "compacting", "subAgent": "sub-agents"}
OTHER = "other"


class Tokens(msgspec.Struct, kw_only=True):
    """Running sums; `cached` is part of `input`."""

    input: int = 0
    cached: int = 0
    output: int = 0


class CostState(msgspec.Struct, kw_only=True):
    """Sums by bucket. `counted` holds a 64-bit digest of each `usage_id`. `usd` is the sum over the
    requests that had a cost, `None` when none had; `unpriced` is how many had none. `last_input` is
    what the next message re-sends, in tokens; `None` after a boundary until the next request."""

    buckets: dict[str, Tokens] = {}
    since_clear: Tokens = msgspec.field(default_factory=Tokens)
    cleared: bool = False
    usd: float | None = None
    unpriced: int = 0
    estimated: bool = False
    last_input: int | None = None
    counted: set[int] = set()

    @property
    def total(self) -> Tokens:
        """The sum over all buckets."""
        total = Tokens()
        for tokens in self.buckets.values():
            total.input += tokens.input
            total.cached += tokens.cached
            total.output += tokens.output
        return total

    @property
    def partly(self) -> bool:
        """Whether some requests had a cost and some had none."""
        return self.usd is not None and self.unpriced > 0


class Cost:
    """See the module."""

    name: ClassVar[str] = "cost"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("conversation",)
    handles: ClassVar[tuple[type[Payload], ...]] = (UsageRecorded, Boundary)
    state_type: ClassVar[type[CostState]] = CostState

    def initial(self) -> CostState:
        """Nothing was used."""
        return CostState()

    def apply(self, state: CostState, event: Event) -> CostState:
        """Fold one event in."""
        match event.payload:
            case UsageRecorded() as usage:
                _count(state, usage)
            case Boundary(kind=kind):
                state.last_input = None
                if kind == "clear":
                    state.since_clear, state.cleared = Tokens(), True
        return state

    def probes(self, state: CostState, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: CostState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: CostState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """The count goes on; the record of the thread holds it already."""
        if not state.counted:
            return Restoration(
                status=Status.RESTORED, reason="no usage was recorded", summary="none recorded"
            )
        return Restoration(
            status=Status.RESTORED,
            reason="continues, every request counted once",
            summary=_summary(state),
            details=_details(state),
        )

    def view(self, state: CostState) -> CostView:
        """Sums as numbers; no cost unless every request had one."""
        return CostView(
            total=_tokens_view(state.total),
            buckets={name: _tokens_view(tokens) for name, tokens in sorted(state.buckets.items())},
            usd=None if state.partly else state.usd,
            since_clear=_tokens_view(state.since_clear),
        )


def _count(state: CostState, usage: UsageRecorded) -> None:
    raw = hashlib.blake2b(usage.usage_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    digest = int.from_bytes(raw, "big")
    if digest in state.counted:
        return
    state.counted.add(digest)
    bucket = usage.bucket if usage.bucket in BUCKETS else OTHER
    for tokens in (state.buckets.setdefault(bucket, Tokens()), state.since_clear):
        tokens.input += usage.input_tokens
        tokens.cached += usage.cached_tokens
        tokens.output += usage.output_tokens
    if usage.cost is None:
        state.unpriced += 1
    else:
        state.usd = (state.usd or 0.0) + usage.cost
    state.estimated = state.estimated or usage.basis == "estimate"
    if bucket == "main":
        state.last_input = usage.input_tokens


def _summary(state: CostState) -> str:
    if state.usd is None:
        total = state.total
        about = "about " if state.estimated else ""
        so_far = f"{about}{total.input:,} tokens in, {total.output:,} out so far, continues; price not known"
    elif state.partly:
        unpriced = count(state.unpriced, "request")
        so_far = f"at least {_dollars(state.usd)} so far, continues; price of {unpriced} not known"
    else:
        so_far = f"about {_dollars(state.usd)} so far, continues"
    if state.last_input is None:
        return so_far
    return f"{so_far}. Next message re-sends ~{_thousands(state.last_input)} tokens"


def _details(state: CostState) -> tuple[str, ...]:
    lines = [
        f"{BUCKETS.get(name, OTHER)}: {_in_and_out(tokens)}" for name, tokens in sorted(state.buckets.items())
    ]
    if state.cleared:
        lines.append(f"since you cleared: {_in_and_out(state.since_clear)}")
    return tuple(lines)


def _in_and_out(tokens: Tokens) -> str:
    return f"{tokens.input:,} tokens in ({tokens.cached:,} from cache), {tokens.output:,} out"


def _dollars(usd: float) -> str:
    return f"${usd:.4f}" if 0 < usd < 0.01 else f"${usd:,.2f}"


def _thousands(tokens: int) -> str:
    return f"{round(tokens / 1000)}k" if tokens >= 1000 else str(tokens)


def _tokens_view(tokens: Tokens) -> TokensView:
    return TokensView(input=tokens.input, cached=tokens.cached, output=tokens.output)


COST = Cost()
