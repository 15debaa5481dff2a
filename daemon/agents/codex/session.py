"""Who, where and how: the session's beginning, its turns, and what each turn runs with.

A fork's file begins with a copy of its parent. Nothing in that copy binds the fork: its folder,
goal and usage are its own, from its first own line on.
"""

import contextlib
import re

import msgspec

from resumed.daemon.agents.codex import lines
from resumed.daemon.agents.codex.calls import set_goal
from resumed.daemon.agents.codex.emit import AGENT, Emitter
from resumed.daemon.agents.codex.names import native_id_in
from resumed.daemon.agents.codex.state import Permissions, TranslatorState
from resumed.daemon.agents.identity import derived_id, imported_thread_id, namespace
from resumed.daemon.ports.git_origin import normalise_origin
from resumed.restore.events import SCHEMA_VERSION
from resumed.restore.events.session import (
    AgentRef,
    EnvironmentSeen,
    GitRef,
    Goal,
    ModelSet,
    PermissionsSet,
    SessionMeta,
    TurnEnded,
    TurnStarted,
    WorktreeBound,
)

_OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def begin_session(emitter: Emitter, meta: lines.SessionMetaLine) -> None:
    """The first one is the session's own, a further one begins the copy of a parent.

    When the own one is damaged, the file's name still tells them apart.
    """
    state = emitter.state
    if not state.thread and native_id_in(emitter.file_name) not in (None, meta.id):
        begin_unnamed_session(emitter, meta.timestamp)
    if state.thread:
        if meta.id != state.native:
            state.replayed = True
            state.origin = imported_thread_id(AGENT, meta.id)
        return
    git = meta.git or lines.Git()
    _name_session(emitter, meta.id)
    sha = git.commit_hash if _OBJECT_ID.fullmatch(git.commit_hash or "") else None
    state.branch, state.sha, state.provider = git.branch, sha, meta.model_provider
    # A relative folder names none: it would be looked up from wherever the daemon runs.
    state.cwd = meta.cwd if meta.cwd.startswith("/") else ""
    forked_from = imported_thread_id(AGENT, meta.forked_from_id) if meta.forked_from_id else None
    emitter.add(
        SessionMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=state.thread,
            session_id=state.session,
            agent=AgentRef(name=AGENT, version=meta.cli_version, native_id=meta.id),
            source=AGENT,
            cwd=state.cwd,
            created_at=meta.timestamp,
            reason="fork" if forked_from else "import",
            forked_from=forked_from,
            git=GitRef(sha=sha, branch=git.branch, origin=normalise_origin(git.repository_url or "")),
        )
    )
    if meta.cli_version:
        emitter.add(EnvironmentSeen(agent_version=meta.cli_version))


def begin_unnamed_session(emitter: Emitter, created_at: str) -> None:
    """The session's own first line is damaged: its id comes from the file's name, the rest is unknown."""
    name = emitter.file_name
    _name_session(emitter, native_id_in(name) or name.removesuffix(".jsonl"))
    state = emitter.state
    emitter.add(
        SessionMeta(
            schema_version=SCHEMA_VERSION,
            thread_id=state.thread,
            session_id=state.session,
            agent=AgentRef(name=AGENT, native_id=state.native),
            source=AGENT,
            cwd="",
            created_at=created_at,
            reason="import",
        )
    )


def leave_replay(state: TranslatorState, payload: lines.Payload) -> None:
    """End the copy of the parent at the first line of the own thread.

    Lines that name their thread tell it; else a turn younger than the thread (both ids begin with
    their time) cannot be the parent's.
    """
    match payload:
        case (
            lines.UsageLine(thread_id=thread)
            | lines.SettingsLine(thread_id=thread)
            | lines.ItemCompletedLine(thread_id=thread)
        ) if thread:
            state.origin = imported_thread_id(AGENT, thread)
        case lines.TaskLine(turn_id=str(turn)) if _is_younger(turn, state.native):
            state.origin = state.thread
        case _:
            return
    if state.origin == state.thread:
        state.replayed = False
        state.calls = {}
        state.compacting = state.produced = False


def begin_turn(emitter: Emitter, line: lines.TaskLine) -> None:
    """A turn began; one that is still open was cut off without a word."""
    state = emitter.state
    if state.turn is not None:
        _close_turn(emitter, state.turn, "interrupted")
    by_goal = line.turn_attribution is not None and line.turn_attribution.turn_trigger == "goal"
    state.turn = emitter.turn_id(line.turn_id)
    state.answer = None
    state.window = line.model_context_window or state.window
    emitter.add(TurnStarted(turn_id=state.turn, provenance="goal" if by_goal else "user"))
    if by_goal and state.goal is not None and state.goal.status != "active":
        set_goal(emitter, Goal(objective=state.goal.objective, status="active"))


def complete_turn(emitter: Emitter, line: lines.TaskLine) -> None:
    """A turn ended as it should."""
    _end_turn(emitter, line, "completed")


def interrupt_turn(emitter: Emitter, line: lines.TaskLine) -> None:
    """A turn was broken off."""
    _end_turn(emitter, line, "interrupted")


def bind_turn(emitter: Emitter, line: lines.TurnContextLine) -> None:
    """What a turn runs with: folder, permissions and model, each said when it is another one."""
    state = emitter.state
    if line.cwd:
        state.cwd = line.cwd
        if not state.replayed and line.cwd != state.bound:
            _bind_folder(emitter, line.cwd)
    permissions = _permissions(line)
    if permissions != state.permissions:
        state.permissions = permissions
        emitter.add(
            PermissionsSet(
                cause="turn",
                approval=permissions.approval,
                sandbox=permissions.sandbox,
                profile=permissions.profile,
                mode=permissions.mode,
                directories=permissions.directories,
            )
        )
    settings = line.collaboration_mode.settings if line.collaboration_mode else None
    effort = line.effort or (settings.reasoning_effort if settings else None)
    model = (line.model, state.provider, state.window, effort)
    if model != state.model:
        state.model = model
        emitter.add(
            ModelSet(
                model=line.model,
                cause="turn",
                provider=state.provider,
                window=state.window,
                overrides={"reasoning_effort": effort} if effort else {},
            )
        )


def apply_settings(emitter: Emitter, line: lines.SettingsLine) -> None:
    """The provider may change between turns; the next turn says it."""
    settings = line.thread_settings
    if settings is not None and settings.model_provider_id:
        emitter.state.provider = settings.model_provider_id


def _name_session(emitter: Emitter, native: str) -> None:
    state = emitter.state
    state.native = native
    state.thread = state.origin = imported_thread_id(AGENT, native)
    file_id = emitter.file_name.removesuffix(".jsonl")
    state.session = derived_id(namespace(state.thread), f"{file_id}:1")


def _bind_folder(emitter: Emitter, cwd: str) -> None:
    """The first turn's folder was chosen by whoever started it; a later one nobody chose."""
    state = emitter.state
    first = state.bound is None
    state.bound = cwd
    emitter.add(
        WorktreeBound(
            cwd=cwd,
            cause="start" if first else "agentSilent",
            branch=state.branch if first else None,
            sha=state.sha if first else None,
        )
    )


def _permissions(line: lines.TurnContextLine) -> Permissions:
    policy, sandbox = line.approval_policy, line.sandbox_policy
    active, profile = line.active_permission_profile, line.permission_profile
    planning = line.collaboration_mode is not None and line.collaboration_mode.mode == "plan"
    return Permissions(
        approval=next(iter(policy), None) if isinstance(policy, dict) else policy,
        sandbox=(sandbox.type or sandbox.mode) if sandbox else None,
        profile=(active.id if active else None) or (profile.type if profile else None),
        mode="plan" if planning else "normal",
        directories=_extra_folders(line),
    )


def _extra_folders(line: lines.TurnContextLine) -> tuple[str, ...]:
    """Folders that may be written beside the turn's own. The policy and the profile say the same in
    two forms, of which a version may write only one."""
    policy, profile = line.sandbox_policy, line.permission_profile
    said = list(policy.writable_roots) if policy else []
    if profile is not None:
        with contextlib.suppress(msgspec.ValidationError):
            entries = msgspec.convert(profile.file_system, lines.FileSystem).entries
            said += [entry.path.path for entry in entries if entry.access == "write" and entry.path.path]
    return tuple(folder for folder in dict.fromkeys(said) if folder != line.cwd)


def _end_turn(emitter: Emitter, line: lines.TaskLine, status: str) -> None:
    """Without an id it is the open one."""
    turn = emitter.turn_id(line.turn_id) if line.turn_id else emitter.state.turn
    if turn is not None:
        _close_turn(emitter, turn, status)


def _close_turn(emitter: Emitter, turn: str, status: str) -> None:
    state = emitter.state
    emitter.add(TurnEnded(turn_id=turn, status=status, final_entry=state.answer))
    if turn == state.turn:
        state.turn = None


def _is_younger(turn: str, thread: str) -> bool:
    return turn[14:15] == thread[14:15] == "7" and turn > thread
