"""Error codes: distinct, apart from JSON-RPC's own, each with its kind."""

from resumed.protocol.errors import ErrorCode, Holder, ResumedError


def test_kinds_are_distinct_and_in_camel_case() -> None:
    kinds = [code.kind for code in ErrorCode]
    assert len(set(kinds)) == len(kinds)
    assert ErrorCode.THREAD_BUSY.kind == "threadBusy"
    assert ErrorCode.DRAINING.kind == "draining"


def test_our_codes_are_positive_and_the_standard_ones_are_not() -> None:
    standard = {code for code in ErrorCode if code < 0}
    assert {code.value for code in standard} == {-32700, -32600, -32601, -32602, -32603, -32002, -32800}
    assert all(code >= 1001 for code in set(ErrorCode) - standard)


def test_an_error_carries_what_a_client_matches_on() -> None:
    holder = Holder(name="VS Code", pid=7, since="2026-01-02T03:04:05Z")
    error = ResumedError(
        ErrorCode.THREAD_BUSY, "It is open elsewhere.", "Close it there.", holder=holder, ways=("attach",)
    )
    assert str(error) == error.sentence == "It is open elsewhere."
    assert (error.data.kind, error.data.hint) == ("threadBusy", "Close it there.")
    assert (error.data.holder, error.data.ways) == (holder, ("attach",))
