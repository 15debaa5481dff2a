"""What a session cost, by the one rule that counts nothing twice and loses nothing.

Usage records of the own thread count, once per response. Before the first of them (an older file)
the growth of the repeated totals counts. A fork's copy of its parent counts nothing.
"""

from resumed.daemon.agents.codex.emit import Emitter
from resumed.daemon.agents.codex.lines import TokenCountLine, Tokens, UsageLine
from resumed.restore.events.session import UsageRecorded


def record_usage(emitter: Emitter, line: UsageLine) -> None:
    """A request's own usage."""
    state = emitter.state
    if state.replayed or line.thread_id != state.native:
        return
    state.recorded = True
    _emit(emitter, line.response_id or f"{emitter.file_name}:{emitter.offset}", "response", line.usage)


def count_tokens(emitter: Emitter, line: TokenCountLine) -> None:
    """A statement of the totals so far; those of a counter that began anew count from zero."""
    state = emitter.state
    totals = line.info.total_token_usage if line.info else None
    if totals is None or totals == state.totals:
        return
    before = state.totals if totals.input_tokens >= state.totals.input_tokens else Tokens()
    state.totals = totals
    if state.replayed or state.recorded:
        return
    growth = Tokens(
        input_tokens=totals.input_tokens - before.input_tokens,
        cached_input_tokens=totals.cached_input_tokens - before.cached_input_tokens,
        output_tokens=totals.output_tokens - before.output_tokens,
        reasoning_output_tokens=totals.reasoning_output_tokens - before.reasoning_output_tokens,
    )
    state.compacting = state.compacting or not state.produced
    _emit(emitter, f"{emitter.file_name}:{emitter.offset}", "delta", growth)


def _emit(emitter: Emitter, usage_id: str, basis: str, tokens: Tokens) -> None:
    state = emitter.state
    emitter.add(
        UsageRecorded(
            usage_id=usage_id,
            basis=basis,
            input_tokens=tokens.input_tokens,
            cached_tokens=tokens.cached_input_tokens,
            output_tokens=tokens.output_tokens,
            reasoning_tokens=tokens.reasoning_output_tokens,
            model=state.model[0] if state.model else None,
            bucket="compaction" if state.compacting else "main",
        )
    )
    state.compacting = False
    state.produced = False
