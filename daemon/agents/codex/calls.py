"""Tool calls and their outputs as operations; goals and plans, which Codex keeps in them.

A call is an operation from its line on; what its output says decides how it ended. A plan or a goal
counts only when the output shows that it was accepted.
"""

import hashlib
import re
from typing import Any

import msgspec

from resumed.daemon.agents.codex.conversation import add_user_message
from resumed.daemon.agents.codex.emit import MAX_TEXT, Emitter
from resumed.daemon.agents.codex.lines import (
    CallItem,
    CompletedItem,
    GoalLine,
    ItemCompletedLine,
    NativeGoal,
    OutputItem,
    ShellCallItem,
)
from resumed.daemon.agents.codex.patches import changed_files, patched_files
from resumed.daemon.agents.codex.state import OpenCall, TranslatorState
from resumed.restore.events.session import (
    Goal,
    OperationBegun,
    OperationSettled,
    PermissionsSet,
    ResultStored,
    TodoItem,
    TodosSet,
)

_MAX_ARGUMENTS = 8 * 1024
_OUTCOME_HEAD = 400
_GOAL_TOOLS = frozenset({"create_goal", "get_goal", "update_goal"})
_NO_EFFECT_OUTSIDE = _GOAL_TOOLS | {"update_plan", "view_image", "request_user_input", "tool_search"}
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_LEGACY_EXIT_CODE = re.compile(r'"exit_code":\s*(-?\d+)')
_STEP_STATUS = {"pending": "pending", "in_progress": "inProgress", "completed": "completed"}
_RUNNING_GOAL = {"active": "active", "complete": "complete", "completed": "complete"}


class _Step(msgspec.Struct):
    step: str = ""
    status: str = "pending"


class _Plan(msgspec.Struct):
    plan: list[_Step] = []
    explanation: str | None = None


class _GoalOutput(msgspec.Struct):
    goal: NativeGoal | None


_plan_decoder = msgspec.json.Decoder(_Plan)
_goal_decoder = msgspec.json.Decoder(_GoalOutput)
_arguments_decoder = msgspec.json.Decoder(dict[str, Any])


def begin_call(emitter: Emitter, item: CallItem) -> None:
    """A function or custom tool was called."""
    raw = item.arguments or item.input
    emitter.state.produced = True
    if item.call_id is None:
        emitter.entry("call", "assistant", f"{item.name} {raw[:MAX_TEXT]}")
        return
    patches = patched_files(raw, emitter.state.cwd) if item.name == "apply_patch" else ()
    call = OpenCall(operation_id=emitter.operation_id(item.call_id), tool=item.name)
    if item.name == "update_plan":
        call.plan, call.explanation = _parse_plan(raw)
    _open(
        emitter,
        item.call_id,
        call,
        OperationBegun(
            operation_id=call.operation_id,
            tool=item.name,
            args_digest=_digest(raw),
            args=_parse_arguments(raw),
            operation_class=_operation_class(item.name),
            cwd=emitter.state.cwd,
            paths=tuple(patch.path for patch in patches),
            patches=patches,
        ),
        raw,
    )


def begin_shell_call(emitter: Emitter, item: ShellCallItem) -> None:
    """A shell command was called in the old form."""
    emitter.state.produced = True
    if item.call_id is None:
        return
    call = OpenCall(operation_id=emitter.operation_id(item.call_id), tool="local_shell")
    raw = msgspec.json.encode(item.action.command).decode()
    begun = OperationBegun(
        operation_id=call.operation_id,
        tool="local_shell",
        args_digest=_digest(raw),
        args={"command": item.action.command} if len(raw) <= _MAX_ARGUMENTS else {"text": raw[:MAX_TEXT]},
        cwd=emitter.state.cwd,
    )
    _open(emitter, item.call_id, call, begun, raw)


def complete_item(emitter: Emitter, line: ItemCompletedLine) -> None:
    """The display form of an item is complete. It alone says which message a person wrote, and the
    exact edits of a call, before its output."""
    item = line.item
    if item.type == "UserMessage":
        add_user_message(emitter, "\n".join(piece.text for piece in item.content if piece.text))
    elif item.type == "FileChange":
        _note_changes(emitter.state, item)


def end_call(emitter: Emitter, item: OutputItem) -> None:
    """A tool's output reached the conversation, or context that looks like one."""
    text = _output_text(item)
    if item.call_id is None:
        emitter.entry("context", "tool", text, display=False)
        if item.name == "goal_objective":
            _goal_was_given(emitter, text)
        return
    call = emitter.state.calls.pop(item.call_id, None)
    if call is None:
        emitter.entry("result", "tool", text)
        return
    state, exit_code = _outcome(text, call.status)
    emitter.add(
        OperationSettled(
            operation_id=call.operation_id, state=state, exit_code=exit_code, patches=call.patches
        ),
        op=call.operation_id,
    )
    entry_id = emitter.entry("result", "tool", text, op=call.operation_id)
    emitter.add(
        ResultStored(operation_id=call.operation_id, digest=_digest(text), entry_id=entry_id),
        op=call.operation_id,
    )
    if call.plan is not None and text.startswith("Plan updated"):
        emitter.add(
            TodosSet(items=call.plan, origin="agent", explanation=call.explanation), op=call.operation_id
        )
    if call.tool in _GOAL_TOOLS:
        _goal_was_told(emitter, text)


def update_goal(emitter: Emitter, line: GoalLine) -> None:
    """A person, or an editor, changed the goal."""
    _set_native_goal(emitter, line.goal)


def set_goal(emitter: Emitter, goal: Goal) -> None:
    """Say the goal if it is another one, or in another state; a fork has none of its parent's."""
    state = emitter.state
    if state.replayed or goal == state.goal:
        return
    state.goal = goal
    emitter.add(PermissionsSet(cause="goal", goal=goal))


def _note_changes(state: TranslatorState, item: CompletedItem) -> None:
    call = state.calls.get(item.id)
    if call is None:
        return
    call.status = item.status
    if item.status in ("completed", ""):
        call.patches = changed_files(item.changes, state.cwd)


def _open(emitter: Emitter, call_id: str, call: OpenCall, begun: OperationBegun, raw: str) -> None:
    emitter.add(begun, op=call.operation_id)
    emitter.state.calls[call_id] = call
    emitter.entry("call", "assistant", f"{call.tool} {raw[:MAX_TEXT]}", op=call.operation_id)


def _operation_class(tool: str) -> str:
    if tool == "apply_patch":
        return "write"
    return "read" if tool in _NO_EFFECT_OUTSIDE else "external"


def _parse_arguments(raw: str) -> dict[str, Any]:
    if len(raw) > _MAX_ARGUMENTS:
        return {"text": raw[:MAX_TEXT]}
    try:
        return _arguments_decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {"text": raw[:MAX_TEXT]}


def _parse_plan(raw: str) -> tuple[tuple[TodoItem, ...] | None, str]:
    try:
        plan = _plan_decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return None, ""
    items = tuple(
        TodoItem(id=str(number), text=step.step, status=_STEP_STATUS.get(step.status, "pending"))
        for number, step in enumerate(plan.plan, 1)
    )
    return items, plan.explanation or ""


def _output_text(item: OutputItem) -> str:
    output = item.output
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(piece.text for piece in output if piece.text)
    return output.content


def _outcome(text: str, status: str) -> tuple[str, int | None]:
    """How a call ended, from the words before the tool's own output."""
    head = text[:_OUTCOME_HEAD]
    code = _exit_code(text, head)
    if code is not None:
        return ("failed" if code or status == "failed" else "committed"), code
    first_line = head.partition("\n")[0]
    if status == "declined" or first_line.startswith("patch rejected") or "rejected by user" in first_line:
        return "denied", None
    if first_line.startswith("aborted"):
        return "aborted", None
    failed = status == "failed" or first_line.startswith("unsupported call")
    return ("failed" if failed else "committed"), None


def _exit_code(text: str, head: str) -> int | None:
    if head.startswith("{"):
        found = _LEGACY_EXIT_CODE.search(text[-_OUTCOME_HEAD:])
    else:
        found = _EXIT_CODE.search(head.partition("\nOutput:\n")[0])
    return int(found[1]) if found else None


def _goal_was_told(emitter: Emitter, text: str) -> None:
    try:
        told = _goal_decoder.decode(text).goal
    except (msgspec.DecodeError, RecursionError):
        return
    _set_native_goal(emitter, told)


def _set_native_goal(emitter: Emitter, goal: NativeGoal | None) -> None:
    """A goal that is blocked, or over its limits, does not go on by itself: to us it is paused."""
    if goal is not None:
        set_goal(emitter, Goal(objective=goal.objective, status=_RUNNING_GOAL.get(goal.status, "paused")))
    elif emitter.state.goal is not None:
        set_goal(emitter, Goal(objective=emitter.state.goal.objective, status="cleared"))


def _goal_was_given(emitter: Emitter, objective: str) -> None:
    """The agent was reminded of its goal: the only trace of one that a person set."""
    goal = emitter.state.goal
    if goal is None or goal.objective != objective:
        set_goal(emitter, Goal(objective=objective, status="active"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
