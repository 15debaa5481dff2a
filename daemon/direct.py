"""What a direct agent does in its open run: turns, operations, events, todos.

Everything is answered only when it is durable; the same call twice has the effect of one.
"""

import asyncio
import hashlib
import hmac
import os
import uuid
from datetime import UTC, datetime

import msgspec

from resumed.daemon.live import Live, event_of
from resumed.daemon.ports import files
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.ids import parse_token, parse_uuid
from resumed.protocol.sessions import (
    EventAppendParams,
    EventAppendResult,
    OperationBeginParams,
    OperationBeginResult,
    OperationCommitParams,
    OperationCommitResult,
    TurnCompleteParams,
    TurnCompleteResult,
    TurnStartParams,
    TurnStartResult,
)
from resumed.restore.events import EVENT_TYPES
from resumed.restore.events.envelope import Payload
from resumed.restore.events.session import (
    CheckRecorded,
    EntryAdded,
    OperationBegun,
    OperationSettled,
    ResultStored,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.operation_state import RESOLVED
from resumed.restore.probes import FileSeen

SUBMITTED = frozenset(
    {
        "entry_added", "entry_amended", "leaf_moved", "boundary", "usage_recorded", "check_recorded",
        "model_set", "permissions_set", "environment_seen", "prompt_set", "state_invalidated",
        "extension_set",
    }
)  # fmt: skip
TURN_STATES = ("completed", "interrupted", "failed")
OPERATION_CLASSES = ("read", "write", "external")
SETTLED = ("committed", "failed", "denied", "aborted")
ABSENT = "absent"
JUDGED = {
    "landed": "committed",
    "finished": "committed",
    "notLanded": "aborted",
    "notRun": "aborted",
    "agentChecks": "begun",
}


async def start_turn(live: Live, params: TurnStartParams, key: bytes) -> TurnStartResult:
    """Begin a turn. The same `event_id` again gives the same turn."""
    event_id = str(uuid.uuid4()) if params.event_id is None else parse_uuid(params.event_id)
    turn_id = str(uuid.uuid5(uuid.UUID(live.session_id), event_id))
    token = hmac.new(key, turn_id.encode(), hashlib.sha256).hexdigest()[:32]
    result = TurnStartResult(turn_id=turn_id, token=token)
    if turn_id in (live.lifecycle.open_turn, live.lifecycle.last_turn):
        return result
    if live.lifecycle.open_turn is not None:
        raise ResumedError(
            ErrorCode.TURN_BUSY, "A turn is open in this session.", "Complete it first; turns do not overlap."
        )
    entry_id = str(uuid.uuid5(uuid.UUID(turn_id), "message"))
    started = event_of(TurnStarted(turn_id=turn_id, token=token, entry_id=entry_id), event_id=event_id)
    message = event_of(
        EntryAdded(kind="message", role="user", text=params.message),
        event_id=str(uuid.uuid5(uuid.UUID(event_id), "message")),
        turn=turn_id,
    )
    await live.append_events(
        msgspec.structs.replace(started, turn=turn_id), msgspec.structs.replace(message, id=entry_id)
    )
    return result


async def complete_turn(live: Live, params: TurnCompleteParams, key: bytes) -> TurnCompleteResult:
    """End a turn with the token that began it."""
    turn_id = parse_uuid(params.turn_id)
    _known(params.status, TURN_STATES, "status")
    token = hmac.new(key, turn_id.encode(), hashlib.sha256).hexdigest()[:32]
    if not hmac.compare_digest(token, params.token):
        raise ResumedError(
            ErrorCode.TURN_NOT_FOUND, "The token is not this turn's.", "Use the one that turn/start gave."
        )
    if live.lifecycle.open_turn != turn_id:
        # The token proves that the turn was begun here, so it has been ended since.
        return TurnCompleteResult(last_durable_event=live.last_durable, repeated=True)
    payloads: list[Payload] = []
    if params.message:
        payloads.append(EntryAdded(kind="message", role="assistant", text=params.message))
    payloads.append(TurnEnded(turn_id=turn_id, status=params.status, token=token))
    await live.append(*payloads, turn=turn_id)
    return TurnCompleteResult(last_durable_event=live.last_durable)


async def begin_operation(live: Live, params: OperationBeginParams) -> OperationBeginResult:
    """Announce a tool call. A known one is answered from the record, never begun again."""
    operation_id = parse_token(params.operation_id)
    _known(params.kind, OPERATION_CLASSES, "kind")
    canonical = msgspec.json.encode((params.tool, params.args), order="deterministic")
    digest = hashlib.sha256(canonical).hexdigest()
    known = live.operations.known.get(operation_id)
    if known is not None:
        state, _, recorded = known.partition(" ")
        if recorded != digest:
            raise ResumedError(
                ErrorCode.OPERATION_CONFLICT,
                f"The operation {operation_id} is on record with other arguments.",
                "Use a new operation_id for another call.",
            )
        return OperationBeginResult(
            operation_id=operation_id,
            state=_as_told(live, operation_id, state),
            repeated=True,
            result=live.operations.results.get(operation_id),
        )
    turn = live.lifecycle.open_turn if params.turn_id is None else parse_uuid(params.turn_id)
    paths = tuple(dict.fromkeys(os.path.normpath(os.path.join(live.place.cwd, p)) for p in params.paths))
    begun = OperationBegun(
        operation_id=operation_id,
        tool=params.tool,
        args_digest=digest,
        args=params.args,
        operation_class=params.kind,
        cwd=live.place.cwd,
        paths=paths,
        pre_hashes=await _hashes(paths),
    )
    await live.append(begun, turn=turn)
    return OperationBeginResult(operation_id=operation_id, state="begun")


async def commit_operation(live: Live, params: OperationCommitParams) -> OperationCommitResult:
    """Settle a tool call; again gives what was settled."""
    operation_id = parse_token(params.operation_id)
    _known(params.state, SETTLED, "state")
    known = live.operations.known.get(operation_id)
    if known is None:
        raise ResumedError(
            ErrorCode.OPERATION_NOT_FOUND,
            f"The operation {operation_id} was not begun.",
            "Announce it with operation/begin before its effect.",
        )
    state = known.partition(" ")[0]
    if state not in ("begun", RESOLVED):
        return OperationCommitResult(
            operation_id=operation_id, state=state, last_durable_event=live.last_durable, repeated=True
        )
    begun = live.operations.open.get(operation_id)
    paths = begun.paths if begun else ()
    settled = OperationSettled(
        operation_id=operation_id,
        state=params.state,
        exit_code=params.exit_code,
        post_hashes=await _hashes(paths),
    )
    payloads: list[Payload] = [settled]
    if params.result is not None:
        digest = hashlib.sha256(params.result.encode()).hexdigest()
        payloads.append(ResultStored(operation_id=operation_id, digest=digest, text=params.result))
    await live.append(*payloads, turn=live.lifecycle.open_turn)
    return OperationCommitResult(
        operation_id=operation_id, state=params.state, last_durable_event=live.last_durable
    )


async def append_event(live: Live, params: EventAppendParams) -> EventAppendResult:
    """Append one submitted event."""
    event_id = parse_uuid(params.event_id)
    if params.type not in SUBMITTED:
        raise ResumedError(
            ErrorCode.EVENT_REFUSED,
            f"An agent may not append {params.type!r}.",
            f"It may append: {', '.join(sorted(SUBMITTED))}.",
        )
    try:
        payload = msgspec.convert(params.payload, EVENT_TYPES[params.type])
    except msgspec.ValidationError as error:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS,
            f"The payload of {params.type} does not fit: {error}.",
            "See the schema.",
        ) from error
    if isinstance(payload, CheckRecorded):
        payload = await _with_inputs(live, payload, event_id)
    turn = None if params.turn_id is None else parse_uuid(params.turn_id)
    at = None if params.at is None else _in_utc(params.at)
    event = event_of(payload, event_id=event_id, turn=turn, at=at)
    ((seq, repeated),) = await live.append_events(event)
    return EventAppendResult(seq=seq, last_durable_event=live.last_durable, repeated=repeated)


async def _with_inputs(live: Live, check: CheckRecorded, event_id: str) -> CheckRecorded:
    """An input given without a digest is hashed now, and for an event sent again as it was then."""
    before = await asyncio.to_thread(live.recorded, event_id)
    if before is not None and isinstance(before.payload, CheckRecorded):
        return msgspec.structs.replace(check, inputs=before.payload.inputs | _given(check))
    missing = [path for path, digest in check.inputs.items() if not digest]
    hashes = await _hashes(tuple(os.path.join(live.place.root, path) for path in missing))
    found = {path: hashes[os.path.join(live.place.root, path)] for path in missing}
    return msgspec.structs.replace(check, inputs=check.inputs | found)


def _given(check: CheckRecorded) -> dict[str, str]:
    return {path: digest for path, digest in check.inputs.items() if digest}


async def _hashes(paths: tuple[str, ...]) -> dict[str, str]:
    hashes = {}
    for path in paths:
        seen = await files.file(path, 0)
        if isinstance(seen, FileSeen):
            hashes[path] = ABSENT if seen.kind == "absent" else seen.sha256 or seen.kind
    return hashes


def _as_told(live: Live, operation_id: str, state: str) -> str:
    """A call that only a restore judged stands, for its agent, where the judgement puts it."""
    return JUDGED[live.operations.resolved[operation_id]] if state == RESOLVED else state


def _in_utc(text: str) -> str:
    """The time as events carry it, so that events can be put in order by it."""
    try:
        when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            raise ValueError(text)
        return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS, f"{text!r} is not a time with an offset.", "Use RFC 3339."
        ) from error


def _known(value: str, allowed: tuple[str, ...], field: str) -> None:
    if value not in allowed:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS, f"{field} can't be {value!r}.", f"It is one of {', '.join(allowed)}."
        )
