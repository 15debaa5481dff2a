"""What a direct agent does in its open run: turns, operations, events, todos.

Everything is answered only when it is durable; the same call twice has the effect of one.
"""

import asyncio
import hashlib
import hmac
import os
import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec

from resumed.daemon.live import Live, TurnOnRecord, event_of
from resumed.daemon.masking import Masker
from resumed.daemon.permission_words import check_words
from resumed.daemon.ports import files
from resumed.daemon.submitted import SUBMITTED
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
    PermissionsSet,
    ResultStored,
    TurnEnded,
    TurnStarted,
)
from resumed.restore.operation_state import RESOLVED
from resumed.restore.probes import FileSeen

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
    """Begin a turn. The same `event_id` again gives the same turn, whatever is open now; with another
    message it is an `eventConflict`."""
    event_id = str(uuid.uuid4()) if params.event_id is None else parse_uuid(params.event_id)
    text = await asyncio.to_thread(live.masker.text, params.message)
    turn_id = _derived(live.session_id, event_id)
    token = _token(key, turn_id)
    open_turn = live.lifecycle.open_turn
    if open_turn not in (None, turn_id):
        before = None if params.event_id is None else await asyncio.to_thread(live.recorded, event_id)
        if before is None:
            raise ResumedError(
                ErrorCode.TURN_BUSY,
                "A turn is open in this session.",
                "Complete it first; turns do not overlap.",
            )
    entry_id = _derived(turn_id, "message")
    started = event_of(
        TurnStarted(turn_id=turn_id, token=token, entry_id=entry_id), event_id=event_id, turn=turn_id
    )
    message = event_of(
        EntryAdded(kind="message", role="user", text=text),
        event_id=_derived(event_id, "message"),
        turn=turn_id,
    )
    await live.append_events(started, msgspec.structs.replace(message, id=entry_id))
    return TurnStartResult(turn_id=turn_id, token=token, entry_id=entry_id)


async def complete_turn(live: Live, params: TurnCompleteParams, key: bytes) -> TurnCompleteResult:
    """End a turn of the thread with the token that began it. One that a restore has cut off in the
    meantime is ended too: its answer is not lost."""
    turn_id = parse_uuid(params.turn_id)
    _known(params.status, TURN_STATES, "status")
    text = await asyncio.to_thread(live.masker.text, params.message or "")
    token = _token(key, turn_id)
    if not hmac.compare_digest(token.encode(), params.token.encode()):
        raise ResumedError(
            ErrorCode.TURN_NOT_FOUND, "The token is not this turn's.", "Use the one that turn/start gave."
        )
    if live.lifecycle.open_turn != turn_id:
        sessions = tuple(run.session_id for run in live.lifecycle.runs if run.own)
        turn = await asyncio.to_thread(live.turn_on_record, turn_id, sessions)
        if not turn.begun:
            raise ResumedError(
                ErrorCode.TURN_NOT_FOUND,
                "The turn is not one of this conversation.",
                "Complete it in the session that it belongs to.",
            )
        if turn.ended is not None:
            _check_same_end(turn, params, text)
            return TurnCompleteResult(
                last_durable_event=live.last_durable, repeated=True, entry_id=turn.ended.final_entry
            )
    entry_id = _derived(turn_id, "answer") if params.message else None
    events = []
    if entry_id is not None:
        answer = event_of(
            EntryAdded(kind="message", role="assistant", text=text),
            event_id=entry_id,
            turn=turn_id,
        )
        events.append(msgspec.structs.replace(answer, id=entry_id))
    ended = TurnEnded(turn_id=turn_id, status=params.status, token=token, final_entry=entry_id)
    events.append(event_of(ended, event_id=_derived(turn_id, "ended"), turn=turn_id))
    await live.append_events(*events)
    return TurnCompleteResult(last_durable_event=live.last_durable, entry_id=entry_id)


async def begin_operation(live: Live, params: OperationBeginParams) -> OperationBeginResult:
    """Announce a tool call. A known one is answered from the record, never begun again."""
    operation_id = parse_token(params.operation_id)
    _known(params.kind, OPERATION_CLASSES, "kind")
    _check_paths(params.paths, "paths")
    args, digests = await asyncio.to_thread(_arguments, live.masker, params)
    known = live.operations.known.get(operation_id)
    if known is not None:
        state, _, recorded = known.partition(" ")
        if recorded not in digests:
            raise ResumedError(
                ErrorCode.OPERATION_CONFLICT,
                f"The operation {operation_id} is on record with other arguments.",
                "Use a new operation_id for another call.",
            )
        await _check_same_call(live, params, operation_id)
        return OperationBeginResult(
            operation_id=operation_id,
            state=_as_told(live, operation_id, state),
            repeated=True,
            result=live.operations.results.get(operation_id),
        )
    turn = live.lifecycle.open_turn if params.turn_id is None else parse_uuid(params.turn_id)
    paths = _absolute(params.paths, live.place.cwd)
    begun = OperationBegun(
        operation_id=operation_id,
        tool=params.tool,
        args_digest=digests[0],
        args=args,
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
        await _settle_again(live, params, operation_id)
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
        payloads.append(_stored(operation_id, await asyncio.to_thread(live.masker.text, params.result)))
    await live.append(*payloads, turn=live.lifecycle.open_turn)
    return OperationCommitResult(
        operation_id=operation_id, state=params.state, last_durable_event=live.last_durable
    )


async def append_event(live: Live, params: EventAppendParams) -> EventAppendResult:
    """Append one submitted event. An entry without an id gets one."""
    event_id = parse_uuid(params.event_id)
    payload = _submitted(params)
    entry_id, parent_id = _entry_ids(params, event_id)
    if isinstance(payload, CheckRecorded):
        _check_paths(tuple(payload.inputs), "inputs")
        payload = await _with_inputs(live, payload, event_id)
    payload = await asyncio.to_thread(live.masker.payload, payload, SUBMITTED[params.type])
    turn = None if params.turn_id is None else parse_uuid(params.turn_id)
    at = None if params.at is None else _in_utc(params.at)
    event = event_of(payload, event_id=event_id, turn=turn, at=at)
    event = msgspec.structs.replace(event, id=entry_id, parent_id=parent_id)
    ((seq, repeated),) = await live.append_events(event)
    if repeated and entry_id is not None:
        entry_id = await _same_entry(live, params, event_id)
    return EventAppendResult(seq=seq, last_durable_event=live.last_durable, repeated=repeated, id=entry_id)


async def _check_same_call(live: Live, params: OperationBeginParams, operation_id: str) -> None:
    """What is sent again under one id must be the same call also in what is not among its arguments."""
    sessions = tuple(run.session_id for run in live.lifecycle.runs if run.own)
    begun = (await asyncio.to_thread(live.operation_on_record, operation_id, sessions)).begun
    if begun is None:
        return
    # Relative paths are those of the folder in which it was announced.
    is_same = begun.paths == _absolute(params.paths, begun.cwd) and begun.operation_class == params.kind
    if not is_same:
        raise ResumedError(
            ErrorCode.OPERATION_CONFLICT,
            f"The operation {operation_id} is on record with other paths, or as another kind.",
            "Use a new operation_id for another call.",
        )


async def _settle_again(live: Live, params: OperationCommitParams, operation_id: str) -> None:
    """What settled a call stands: what is sent again must be the same, or it would be lost in silence."""
    sessions = tuple(run.session_id for run in live.lifecycle.runs if run.own)
    settled = (await asyncio.to_thread(live.operation_on_record, operation_id, sessions)).settled
    if settled is None:
        return
    recorded = live.operations.results.get(operation_id)
    result = None if params.result is None else await asyncio.to_thread(live.masker.text, params.result)
    # Power that goes in the middle of the write can leave the state without the result.
    is_missing = recorded is None and result is not None
    same = (settled.state, settled.exit_code, result if is_missing else recorded)
    is_silent = params.result is None and (params.state, params.exit_code) == same[:2]
    if not is_silent and (params.state, params.exit_code, result) != same:
        raise ResumedError(
            ErrorCode.OPERATION_CONFLICT,
            f"The operation {operation_id} is on record with another state, exit code or result.",
            "What settled it stands; operation/begin with the same call says what that was.",
        )
    if is_missing and result is not None:
        await live.append(_stored(operation_id, result), turn=live.lifecycle.open_turn)


def _stored(operation_id: str, text: str) -> ResultStored:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return ResultStored(operation_id=operation_id, digest=digest, text=text)


def _check_same_end(turn: TurnOnRecord, params: TurnCompleteParams, text: str) -> None:
    if turn.ended is not None and (turn.ended.status, turn.answer) != (params.status, text):
        raise ResumedError(
            ErrorCode.EVENT_CONFLICT,
            "The turn is on record with another status or answer.",
            "What ended it stands; begin another turn for what is new.",
        )


def _absolute(paths: tuple[str, ...], folder: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.normpath(os.path.join(folder, path)) for path in paths))


def _arguments(masker: Masker, params: OperationBeginParams) -> tuple[dict[str, Any], tuple[str, str]]:
    """The arguments as they are recorded, and the two digests that a call sent again may be on record
    with; the first is the one to record.

    Both are made of what was sent, so that neither depends on what counts as a secret in one version. Of
    arguments that hold one only the keyed digest is recorded: it can't be used to try out guesses."""
    sent = msgspec.json.encode((params.tool, params.args), order="deterministic")
    plain, keyed = hashlib.sha256(sent).hexdigest(), masker.keyed(sent)
    args = masker.value(params.args)
    return args, (plain, keyed) if args == params.args else (keyed, plain)


def _submitted(params: EventAppendParams) -> Payload:
    if params.type not in SUBMITTED:
        raise ResumedError(
            ErrorCode.EVENT_REFUSED,
            f"An agent may not append {params.type!r}.",
            f"It may append: {', '.join(sorted(SUBMITTED))}.",
        )
    try:
        payload: Payload = msgspec.convert(params.payload, EVENT_TYPES[params.type])
    except msgspec.ValidationError as error:
        raise ResumedError(
            ErrorCode.INVALID_PARAMS,
            f"The payload of {params.type} does not fit: {error}.",
            "restore/events/README.md lists its fields.",
        ) from error
    if isinstance(payload, PermissionsSet):
        check_words(payload.approval, payload.sandbox, payload.mode)
        _check_paths(payload.directories, "directories")
    return payload


def _entry_ids(params: EventAppendParams, event_id: str) -> tuple[str | None, str | None]:
    """The entry's id and its parent's; a minted id is the same each time the event is sent."""
    if params.type != "entry_added":
        if params.id is not None or params.parent_id is not None:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, "Only an entry has an id and a parent.", "Leave both out."
            )
        return None, None
    entry_id = _derived(event_id, "entry") if params.id is None else parse_token(params.id)
    return entry_id, None if params.parent_id is None else parse_token(params.parent_id)


async def _same_entry(live: Live, params: EventAppendParams, event_id: str) -> str | None:
    """The id under which an entry sent again is on record."""
    stored = await asyncio.to_thread(live.recorded, event_id)
    if stored is None:
        return None
    if params.id not in (None, stored.id) or params.parent_id not in (None, stored.parent_id):
        raise ResumedError(
            ErrorCode.EVENT_CONFLICT,
            f"Event {event_id} is on record with another id or parent.",
            "Send another event under another event_id.",
        )
    return stored.id


async def _with_inputs(live: Live, check: CheckRecorded, event_id: str) -> CheckRecorded:
    """An input given without a digest is hashed now, and for an event sent again as it was then. One
    that can't be read stays without a digest."""
    before = await asyncio.to_thread(live.recorded, event_id)
    if before is not None and isinstance(before.payload, CheckRecorded):
        return msgspec.structs.replace(check, inputs=before.payload.inputs | _given(check))
    full = {path: os.path.join(live.place.root, path) for path, digest in check.inputs.items() if not digest}
    hashes = await _hashes(tuple(full.values()))
    found = {path: hashes[whole] for path, whole in full.items() if whole in hashes}
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


def _derived(of: str, name: str) -> str:
    """An id that is the same each time it is asked for."""
    return str(uuid.uuid5(uuid.UUID(of), name))


def _token(key: bytes, turn_id: str) -> str:
    return hmac.new(key, turn_id.encode(), hashlib.sha256).hexdigest()[:32]


def _check_paths(paths: tuple[str, ...], field: str) -> None:
    for path in paths:
        if "\0" in path:
            raise ResumedError(ErrorCode.INVALID_PARAMS, f"One of {field} holds a NUL.", "It can be no path.")
        if not path:
            raise ResumedError(
                ErrorCode.INVALID_PARAMS, f"One of {field} is empty.", "Name a file or folder."
            )


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
