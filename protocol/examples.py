"""The worked exchange of the protocol's README, made from the wire types so that it can't go stale."""

from typing import Any

from resumed.protocol.converter import to_plain
from resumed.protocol.daemon import ClientCapabilities, ClientInfo, InitializeParams, InitializeResult
from resumed.protocol.methods import REQUESTS
from resumed.protocol.restore import (
    Answer,
    Answers,
    Choice,
    Difference,
    Drift,
    DriftKind,
    LaunchPlan,
    Outcome,
    Question,
    RestoreProgress,
    Severity,
)
from resumed.protocol.resume import ThreadResumeParams

THREAD = "5973b6c0-52f1-4f0e-9a57-0c1d6a8f2b11"
RESTORE = "0b0e6f3a-7a0f-4a35-8d0e-3f6f6a2f9c77"
TOKEN = "6f1d…"
DRIFT = "worktree.branchDiffers"

INITIALIZE = InitializeParams(
    protocol_version="1.0",
    client=ClientInfo(name="my editor", version="1.2", pid=4711),
    capabilities=ClientCapabilities(restore_ask=True, progress=True),
)
INITIALIZED = InitializeResult(
    protocol_version="1.0",
    version="0.1.0",
    workspace_id="3f2a…",
    root="/srv/shop",
    methods=tuple(sorted(REQUESTS)),
)
RESUME = ThreadResumeParams(thread=THREAD)
QUESTION = Question(
    restore_id=RESTORE,
    thread_id=THREAD,
    thread_name="Fix payment rounding",
    token=TOKEN,
    round=1,
    rounds=2,
    drifts=(
        Drift(
            id=DRIFT,
            kind=DriftKind.BRANCH_DIFFERS,
            subsystem="worktree",
            severity=Severity.BLOCK,
            title="You are on a different branch.",
            reason="It was on fix/payment; this folder is on main.",
            differences=(Difference(what="branch", recorded="fix/payment", now="main"),),
            choices=(
                Choice(
                    id="switch",
                    label="Switch this folder back",
                    not_possible="README.md is uncommitted",
                ),
                Choice(id="stay", label="Stay on main and tell the agent"),
                Choice(id="readOnly", label="Just read"),
            ),
            suggested="stay",
        ),
    ),
)
ANSWERS = Answers(answers={DRIFT: Answer(choice="stay")})
PROGRESS = RestoreProgress(
    restore_id=RESTORE,
    thread_id=THREAD,
    n=1,
    of=3,
    subsystem="worktree",
    title="Record where the work goes on",
    state="done",
)
REPORTED = {
    "outcome": to_plain(Outcome.PARTIAL),
    "headline": "Ready, 1 part out of date",
    "launch": to_plain(
        LaunchPlan(
            argv=("codex", "resume", THREAD, "-C", "/srv/shop", "-s", "workspace-write"), folder="/srv/shop"
        )
    ),
}
LATER = ThreadResumeParams(thread=THREAD, token=TOKEN, answers=ANSWERS.answers)


def exchange() -> list[tuple[str, dict[str, Any]]]:
    """Who says what, in order: `→` is the client, `←` the daemon."""
    return [
        ("→", _request(1, "resumed/initialize", INITIALIZE)),
        ("←", _answer(1, INITIALIZED)),
        ("→", _request(2, "thread/resume", RESUME)),
        ("←", _request("resumed:1", "restore/ask", QUESTION)),
        ("→", _answer("resumed:1", ANSWERS)),
        ("←", {"jsonrpc": "2.0", "method": "restore/progress", "params": _short(to_plain(PROGRESS))}),
        ("←", _answer(2, REPORTED)),
    ]


def later() -> dict[str, Any]:
    """The second call of a client that can't be asked: the answers, with the token they belong to."""
    return _request(3, "thread/resume", LATER)


def _request(number: int | str, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": _short(to_plain(params))}


def _answer(number: int | str, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": _short(to_plain(result))}


def _short(value: Any) -> Any:
    """Leave out the optional fields that say nothing."""
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items() if item not in (None, "", False, [], (), {})}
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    return value
