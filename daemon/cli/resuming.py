"""`resumed resume`: one restore, asked about on a terminal, answered in advance, or left to the defaults.

Without a terminal nothing is asked: the first call only learns the questions, and the next brings the
answers with the token that stands for what they were asked about.
"""

import sys
from pathlib import Path
from typing import NamedTuple

from resumed.daemon.cli import launching
from resumed.daemon.cli.answers import Given, answers_for, unused
from resumed.daemon.cli.asking import Asker
from resumed.daemon.cli.failures import OUTCOMES, Exit, Failure
from resumed.daemon.cli.paper import CARE, DONE, FAILED, QUIET, Line, Paper
from resumed.daemon.cli.report import report_lines
from resumed.daemon.cli.session import Listener, Reply, call, json_text, on_progress
from resumed.daemon.cli.words import Reader, typed
from resumed.daemon.rpc.client import Callbacks
from resumed.protocol.daemon import ClientCapabilities
from resumed.protocol.restore import Answer, Outcome, RestoreProgress, RestoreReport
from resumed.protocol.resume import ThreadResumeParams
from resumed.restore.wording import agent_name

_METHOD = "thread/resume"
_CALLS_AT_MOST = 6
_GOES_ON = "What was begun is done to its end in the background."
_STEP_MARKS = {"done": DONE, "failed": FAILED, "undone": QUIET}


class Wanted(NamedTuple):
    """What the command was asked to do."""

    thread: str
    given: Given
    defaults: bool
    start: bool
    json: bool


class Console(NamedTuple):
    """Where the answer goes, and where the dialogue is held."""

    out: Paper
    talk: Paper

    @property
    def asks(self) -> bool:
        """Whether a person can be asked: they see the dialogue and type."""
        return self.talk.terminal and sys.stdin.isatty()


def resume(root: Path, wanted: Wanted, console: Console, reader: Reader) -> Exit:
    """Restore, print the report, and start the agent where that was asked for."""
    asker = Asker(console.talk, sys.stdin, wanted.given)
    steps = _Steps(console, quiet=wanted.json)
    try:
        if wanted.defaults:
            reply = _by_defaults(root, wanted, steps)
        elif console.asks:
            reply = _by_asking(root, wanted, steps, asker)
        else:
            reply = _in_advance(root, wanted, steps)
    except KeyboardInterrupt:
        if steps.begun:
            command = typed("resumed", "show", wanted.thread)
            console.talk.show([Line(f"{CARE} ", _GOES_ON), Line("  ", f"What became of it: {command}")])
        raise
    report: RestoreReport = reply.value
    if wanted.json:
        console.out.stream.write(json_text(reply) + "\n")
    else:
        console.out.show(report_lines(report, wanted.thread, reader))
    keys = unused(report, wanted.given)
    console.talk.show(Line(f"{QUIET} ", f"Not asked, so not used: --answer {key}") for key in keys)
    if wanted.start and report.outcome in (Outcome.RESTORED, Outcome.PARTIAL):
        _start(report, console, asker)
    return OUTCOMES[report.outcome]


def _by_asking(root: Path, wanted: Wanted, steps: "_Steps", asker: Asker) -> Reply:
    listener = _listener(steps, asker)
    reply = call(root, _METHOD, ThreadResumeParams(thread=wanted.thread), listener)
    if asker.failure is not None:
        raise asker.failure
    return reply


def _by_defaults(root: Path, wanted: Wanted, steps: "_Steps") -> Reply:
    params = ThreadResumeParams(thread=wanted.thread, answers=dict(wanted.given), unattended=True)
    reply = call(root, _METHOD, params, _listener(steps, None))
    report: RestoreReport = reply.value
    if report.question is not None:
        answers_for(report.question, wanted.given)
    return reply


def _in_advance(root: Path, wanted: Wanted, steps: "_Steps") -> Reply:
    """Call until every question has the answer given for it, or one has none."""
    answers: dict[str, Answer] = {}
    token: str | None = None
    for _ in range(_CALLS_AT_MOST):
        params = ThreadResumeParams(thread=wanted.thread, answers=answers, token=token)
        reply = call(root, _METHOD, params, _listener(steps, None))
        report: RestoreReport = reply.value
        question = report.question
        if question is None or question.token == token:
            return reply
        found = answers_for(question, wanted.given)
        if len(found) < len(question.drifts):
            return reply
        answers, token = answers | found, question.token
    return reply


class _Steps:
    """The steps of the restore, as they are told; `begun` once there was one."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self.begun = False
        self._talk = None if quiet else console.talk

    def show(self, progress: RestoreProgress) -> None:
        """Note a step, and show what became of it."""
        self.begun = True
        if progress.state in _STEP_MARKS and self._talk is not None:
            self._talk.show([Line(f"{_STEP_MARKS[progress.state]} ", progress.title)])


def _listener(steps: _Steps, asker: Asker | None) -> Listener:
    capabilities = ClientCapabilities(restore_ask=asker is not None, progress=True)
    if asker is None:
        return Listener(Callbacks(notification=on_progress(steps.show)), capabilities)
    return Listener(Callbacks(question=asker.ask, notification=on_progress(steps.show)), capabilities)


def _start(report: RestoreReport, console: Console, asker: Asker) -> None:
    """Become the agent; returns only when a person does not want it after a partial restore."""
    plan = report.launch
    if plan is None:
        agent = agent_name(report.agent)
        raise Failure(f"There is no command that starts {agent}.", "It takes the conversation up itself.")
    if report.outcome is Outcome.PARTIAL:
        if not console.asks:
            why = "Not started: a partly restored conversation needs your consent on a terminal."
            console.talk.show([Line(f"{CARE} ", why)])
            return
        if not asker.confirm("Start it as it is?"):
            console.talk.show([Line(f"{QUIET} ", "Not started.")])
            return
    folder = launching.prepare(plan, lambda step: console.talk.show([Line(f"{DONE} ", step.title)]))
    console.out.stream.flush()
    launching.start(plan, folder)
