"""`resumed show`: everything of one conversation, and `resumed status`: the background process."""

from collections.abc import Iterable

from resumed.daemon.cli.paper import CARE, DONE, FAILED, QUIET, Line, more, row
from resumed.daemon.cli.words import STATE_WORDS, Reader, typed
from resumed.protocol.daemon import StatusResult
from resumed.protocol.threads import FileView, ThreadReadResult, TokensView
from resumed.restore.subsystems.cost import BUCKETS
from resumed.restore.wording import APPROVAL_WORDS, SANDBOX_WORDS, agent_name, count, one_line, short_sha

_STATE_WORDS = {
    "begun": "cut off",
    "committed": "done",
    "failed": "failed",
    "denied": "denied",
    "aborted": "stopped",
}
_TODO_MARKS = {"completed": DONE, "inProgress": ">"}
_CHANGE_WORDS = {"add": "written", "update": "edited", "delete": "deleted"}
_MODE_WORDS = {"plan": "plan mode", "bypass": "without any questions", "auto": "decides by itself"}
_FILES_SHOWN = 20


def thread_lines(thread: ThreadReadResult, asked_for: str, reader: Reader) -> list[Line]:
    """All of one conversation. `asked_for` is how the person named it."""
    agent = " ".join(filter(None, (agent_name(thread.agent), thread.agent_version)))
    state = "" if thread.state == "idle" else f", {STATE_WORDS.get(thread.state, thread.state)}"
    return [
        Line("", f"“{thread.name}” ({agent}){state}", "bold"),
        row(
            "Began", "", f"{reader.when(thread.created_at)}; last active {reader.when(thread.last_active_at)}"
        ),
        *_place(thread, reader),
        *_permissions(thread),
        row("Model", "", _model(thread)),
        *_said(thread),
        *_done(thread),
        *_files(thread.files),
        *_checks(thread),
        *_todos(thread),
        *_cost(thread),
        *_runs(thread, reader),
        *_unfinished(thread),
        *_record(thread, reader),
        *_next(thread, asked_for),
    ]


def status_lines(status: StatusResult, reader: Reader) -> list[Line]:
    """The background process in figures."""
    served = f"{reader.path(status.root)} is served by resumed {status.version} (process {status.pid})"
    storage = {"ok": (DONE, "kept safely"), "readOnly": (CARE, "can only be read")}.get(
        status.storage, (FAILED, "nothing can be written")
    )
    index = (DONE, "up to date") if status.index == "ok" else (CARE, "is being made again")
    return [
        Line(f"{DONE} ", f"{served}, since {reader.when(status.started_at)}.", "bold"),
        row("Known", "", count(status.threads, "conversation")),
        row(
            "Now",
            "",
            f"{count(status.clients, 'client')}, {count(status.open_questions, 'open question')}, "
            f"{count(status.leases, 'conversation')} in use",
        ),
        row("Records", storage[0], f"{storage[1]}, in {reader.path(status.state_folder)}"),
        row("Index", *index),
        *(Line(f"  {CARE} ", note) for note in status.notes),
    ]


def _unfinished(thread: ThreadReadResult) -> Iterable[Line]:
    if thread.state == "unfinished":
        yield more(CARE, "a restore was cut off; the next Resume settles it first")


def _place(thread: ThreadReadResult, reader: Reader) -> Iterable[Line]:
    place = thread.place
    parts = [reader.path(place.root) or "not known"]
    if place.branch or place.sha:
        as_of = " (as it started)" if place.sha and place.sha_as_of == "start" else ""
        parts.append(f"{place.branch or 'no branch'}, {short_sha(place.sha)}{as_of}")
    if place.origin:
        parts.append(place.origin)
    yield row("Where", "", ", ".join(parts))
    for folder in place.silent_switches:
        yield more(CARE, f"it changed folders by itself to {reader.path(folder)}")
    if place.last_folder not in (place.root, "", *place.silent_switches):
        yield more("", f"its last turn ran in {reader.path(place.last_folder)}")


def _permissions(thread: ThreadReadResult) -> Iterable[Line]:
    may = thread.permissions
    approval = APPROVAL_WORDS.get(may.approval or "", may.approval or "when it asks is not known")
    sandbox = SANDBOX_WORDS.get(may.sandbox or "", may.sandbox or "what it may change is not known")
    mode = _MODE_WORDS.get(may.mode)
    profile = f"profile {may.profile}" if may.profile else None
    loose = may.approval == "never" or may.sandbox == "danger-full-access" or may.mode == "bypass"
    yield row("May do", CARE if loose else "", ", ".join(filter(None, (approval, sandbox, mode, profile))))
    if may.goal:
        active = may.goal_status == "active"
        yield more(
            CARE if active else "", f"goal, {may.goal_status or 'state not known'}: {one_line(may.goal, 200)}"
        )


def _model(thread: ThreadReadResult) -> str:
    model = thread.model
    by = f" by {model.provider}" if model.provider else ""
    window = f", window {model.window:,} tokens" if model.window else ""
    return f"{model.model or 'not known'}{by}{window}"


def _said(thread: ThreadReadResult) -> Iterable[Line]:
    said = thread.conversation
    parts = [count(said.user_turns, "turn") + " of yours"]
    if said.goal_turns:
        parts.append(f"{count(said.goal_turns, 'turn')} for its goal")
    entries = count(said.entries, "entry", "entries")
    window = "" if said.in_window == said.entries else f", of which it now sees {said.in_window}"
    shortened = f"shortened {count(said.compactions, 'time')}" if said.compactions else "never shortened"
    yield row("Said", "", f"{', '.join(parts)}; {entries}{window}; {shortened}")
    if said.first_message:
        yield more("", f"first: {one_line(said.first_message, 200)}")
    if said.last_message:
        yield more("", f"last: {one_line(said.last_message, 200)}")


def _done(thread: ThreadReadResult) -> Iterable[Line]:
    done = thread.operations
    states = [
        f"{number} {_STATE_WORDS.get(state, state)}" for state, number in done.by_state.items() if number
    ]
    yield row("Done", "", ": ".join(filter(None, (count(done.total, "action"), ", ".join(states)))))
    for operation in done.dangling:
        yield more(CARE, f"{operation.title} was cut off")


def _files(files: tuple[FileView, ...]) -> Iterable[Line]:
    if not files:
        yield row("Files", QUIET, "none touched")
    for number, file in enumerate(files[:_FILES_SHOWN]):
        lines = (
            f" (+{file.lines_added} −{file.lines_removed})" if file.lines_added or file.lines_removed else ""
        )
        text = f"{file.path}, {_CHANGE_WORDS.get(file.change, file.change)}{lines}"
        yield row("Files" if number == 0 else "", "", text)
    if len(files) > _FILES_SHOWN:
        yield more("", f"and {len(files) - _FILES_SHOWN} more")


def _checks(thread: ThreadReadResult) -> Iterable[Line]:
    if not thread.checks:
        yield row("Checks", QUIET, "none recorded")
    for number, check in enumerate(thread.checks):
        counted = check.passed is not None and check.total is not None
        result = f"{check.passed}/{check.total} passed" if counted else check.result
        findings = f": {', '.join(check.findings)}" if check.findings else ""
        mark = DONE if check.result == "passed" else CARE
        yield row("Checks" if number == 0 else "", mark, f"{result}, {check.command}{findings}")


def _todos(thread: ThreadReadResult) -> Iterable[Line]:
    items = thread.todos.items
    if not items:
        yield row("To do", QUIET, "none recorded")
        return
    done = sum(item.status == "completed" for item in items)
    yield row("To do", "", f"{done} of {len(items)} done")
    if thread.todos.explanation:
        yield more("", thread.todos.explanation)
    for item in items:
        yield more(_TODO_MARKS.get(item.status, QUIET), item.text)


def _cost(thread: ThreadReadResult) -> Iterable[Line]:
    cost = thread.cost
    if not cost.buckets:
        yield row("Cost", QUIET, "none recorded")
        return
    price = "price not known" if cost.usd is None else f"about ${cost.usd:,.2f}"
    yield row("Cost", "", f"{_tokens(cost.total)}; {price}")
    if len(cost.buckets) > 1:
        for name, tokens in cost.buckets.items():
            yield more("", f"{BUCKETS.get(name, name)}: {_tokens(tokens)}")
    if cost.since_clear != cost.total:
        yield more("", f"since you cleared: {_tokens(cost.since_clear)}")


def _tokens(tokens: TokensView) -> str:
    return f"{tokens.input:,} tokens in ({tokens.cached:,} from cache), {tokens.output:,} out"


def _runs(thread: ThreadReadResult, reader: Reader) -> Iterable[Line]:
    number = 0
    for place, run in enumerate(thread.runs):
        number += run.taken_up
        ended = f", ended: {run.ended}" if run.ended else ""
        when = reader.when(run.started_at)
        if run.taken_up:
            text = f"run {number} began {when} ({run.reason}){ended}"
        else:
            text = f"made ready {when}, not taken up by the agent"
        yield row("Runs" if place == 0 else "", "" if run.taken_up else QUIET, text)


def _next(thread: ThreadReadResult, asked_for: str) -> Iterable[Line]:
    if thread.not_resumable is None:
        yield Line("  Go on: ", typed("resumed", "resume", asked_for), copied=True)
        yield Line("  What changed since: ", typed("resumed", "check", asked_for), copied=True)


def _record(thread: ThreadReadResult, reader: Reader) -> Iterable[Line]:
    texts = []
    if thread.forked_from:
        texts.append(("", "a copy of another conversation"))
    if thread.depends_on:
        kept = f"depends on the agent's own file {reader.path(thread.depends_on)}"
        texts.append(("", kept))
    texts += [(CARE, sentence) for sentence in thread.damage]
    for number, (mark, text) in enumerate(texts):
        yield row("Record" if number == 0 else "", mark, text)
