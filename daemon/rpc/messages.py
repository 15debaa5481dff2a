"""JSON-RPC 2.0 messages: bytes to a closed union and back.

A body is decoded once, and only its top level is looked at: params stay as they came, whatever they hold.
"""

from typing import Any

import msgspec

from resumed.protocol.converter import Malformed, decode_json, to_json
from resumed.protocol.errors import ErrorCode, ErrorData, ResumedError

RequestId = str | int
_LARGEST_ID = 2**63 - 1


class Request(msgspec.Struct, frozen=True):
    """A call that must be answered once. `params` is whatever came, `{}` when nothing did."""

    id: RequestId
    method: str
    params: Any


class Notification(msgspec.Struct, frozen=True):
    """A message without an answer."""

    method: str
    params: Any


class Response(msgspec.Struct, frozen=True):
    """The answer to one of our own requests: a result, or an error object.

    Without an id it is an error about bytes that the other side could not read."""

    id: RequestId | None
    result: Any
    error: Any


class Invalid(msgspec.Struct, frozen=True):
    """Bytes that are no message; `id` is the sender's when it could be read."""

    id: RequestId | None
    error: ResumedError


Message = Request | Notification | Response | Invalid


def read_message(body: bytes) -> Message:
    """Decode one message and check its shape; never raises for what a client sent."""
    try:
        message = decode_json(body)
    except (Malformed, RecursionError) as error:
        return Invalid(None, ResumedError(ErrorCode.PARSE_ERROR, f"This is no JSON: {error}.", "Send JSON."))
    if isinstance(message, list):
        return _invalid(None, "Batches are not taken: send one message at a time.")
    if not isinstance(message, dict):
        return _invalid(None, "A message must be a JSON object.")
    identifier = message.get("id")
    about_nothing = identifier is None and "error" in message and "method" not in message
    if "id" in message and not _is_id(identifier) and not about_nothing:
        return _invalid(None, "An id must be a string or a whole number.")
    if message.get("jsonrpc") != "2.0":
        return _invalid(identifier, 'A message must hold "jsonrpc": "2.0".')
    return _by_members(message, identifier)


def _by_members(message: dict[str, Any], identifier: RequestId | None) -> Message:
    if "method" not in message:
        if "id" not in message or ("result" in message) == ("error" in message):
            return _invalid(identifier, "A message needs a method, a result or an error.")
        return Response(identifier, message.get("result"), message.get("error"))
    method = message["method"]
    if not isinstance(method, str):
        return _invalid(identifier, "A method must be a string.")
    params = message.get("params")
    if params is None:
        params = {}
    if identifier is None:
        return Notification(method, params)
    return Request(identifier, method, params)


def _is_id(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and abs(value) <= _LARGEST_ID)


def _invalid(identifier: RequestId | None, sentence: str) -> Invalid:
    hint = "See the JSON-RPC 2.0 specification."
    return Invalid(identifier, ResumedError(ErrorCode.INVALID_REQUEST, sentence, hint))


def request_body(identifier: RequestId, method: str, params: Any) -> bytes:
    """Encode a call; `params` may hold wire types."""
    return to_json({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})


def notification_body(method: str, params: Any) -> bytes:
    """Encode a notification; `params` may hold wire types."""
    return to_json({"jsonrpc": "2.0", "method": method, "params": params})


def result_body(identifier: RequestId, result: Any) -> bytes:
    """Encode an answer; `result` may hold wire types."""
    return to_json({"jsonrpc": "2.0", "id": identifier, "result": result})


def error_body(identifier: RequestId | None, error: ResumedError) -> bytes:
    """Encode a refusal. `id` is `null` when the request's own could not be read."""
    return to_json(
        {
            "jsonrpc": "2.0",
            "id": identifier,
            "error": {"code": int(error.code), "message": error.sentence, "data": error.data},
        }
    )


def read_error(error: Any) -> ResumedError:
    """Rebuild the refusal in a response's `error`; what it lacks is filled with plain words."""
    fields = error if isinstance(error, dict) else {}
    sentence = fields.get("message")
    if not isinstance(sentence, str):
        sentence = "The daemon refused without saying why."
    known = fields.get("code") in ErrorCode.__members__.values()
    code = ErrorCode(fields["code"]) if known else ErrorCode.INTERNAL_ERROR
    try:
        data = msgspec.convert(fields.get("data"), ErrorData)
    except msgspec.ValidationError:
        data = ErrorData(kind=code.kind, hint="")
    return ResumedError(
        code, sentence, data.hint, holder=data.holder, ways=data.ways, candidates=data.candidates
    )
