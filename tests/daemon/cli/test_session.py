import json
from pathlib import Path

import pytest

from resumed.daemon.cli.failures import Failure
from resumed.daemon.cli.session import Listener, Reply, call, json_text, on_progress
from resumed.daemon.rpc.client import Callbacks
from resumed.protocol.daemon import ClientCapabilities, ResyncNotification, StatusParams, StatusResult
from resumed.protocol.errors import ErrorCode, ResumedError
from resumed.protocol.restore import Answers, Question, RestoreProgress
from resumed.protocol.sessions import TurnStartParams
from resumed.protocol.threads import NameSetParams, ThreadReadParams
from tests.support.wire import running_daemon


def test_the_answer_comes_as_it_was_and_in_its_type(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:
        reply = call(tmp_path, "daemon/status", StatusParams())
    assert isinstance(reply.value, StatusResult)
    assert reply.value.pid == daemon.process.pid == reply.plain["pid"]
    assert reply.plain["protocolVersion"] == reply.value.protocol_version


def test_a_refusal_is_raised(tmp_path: Path) -> None:
    with running_daemon(tmp_path), pytest.raises(ResumedError) as refused:
        call(tmp_path, "thread/read", ThreadReadParams(thread="busy"))
    assert refused.value.code is ErrorCode.THREAD_BUSY
    assert refused.value.data.holder is not None


def test_questions_are_answered_by_the_listener(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> Answers:
        asked.append(question)
        return Answers(cancelled=True)

    listener = Listener(Callbacks(question=answer), ClientCapabilities(restore_ask=True))
    with running_daemon(tmp_path):
        reply = call(tmp_path, "turn/start", TurnStartParams(session_id="s", message="hi"), listener)
    assert [question.token for question in asked] == ["k"]
    assert "cancelled=True" in reply.value.token


def test_a_daemon_that_dies_before_it_answers_is_said(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:

        async def kill(question: Question) -> Answers:
            daemon.process.kill()
            daemon.process.wait()
            return Answers(cancelled=True)

        listener = Listener(Callbacks(question=kill), ClientCapabilities(restore_ask=True))
        with pytest.raises(Failure, match="went away before it answered") as failed:
            call(tmp_path, "turn/start", TurnStartParams(session_id="s", message="hi"), listener)
        assert str(daemon.place.log) in failed.value.hint


def test_a_log_that_is_not_there_is_not_named(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as daemon:

        async def kill(question: Question) -> Answers:
            daemon.process.kill()
            daemon.process.wait()
            daemon.place.log.unlink()
            return Answers(cancelled=True)

        listener = Listener(Callbacks(question=kill), ClientCapabilities(restore_ask=True))
        with pytest.raises(Failure, match="went away before it answered") as failed:
            call(tmp_path, "turn/start", TurnStartParams(session_id="s", message="hi"), listener)
        assert failed.value.hint == "Try again. resumed serve may say more."


def test_json_is_the_whole_answer_whatever_we_know_of_it() -> None:
    plain = {"threadId": "t", "aFieldOfTomorrow": ["\x1b"]}
    text = json_text(Reply(plain, None))
    assert json.loads(text) == plain
    assert "\x1b" not in text
    assert text.startswith('{\n  "threadId"')


def test_a_large_answer_is_taken(tmp_path: Path) -> None:
    with running_daemon(tmp_path):
        reply = call(tmp_path, "thread/name/set", NameSetParams(thread_id="t", name="big:1000000"))
    assert len(reply.value.name) == 1_000_000


def test_only_steps_of_a_restore_are_progress() -> None:
    seen: list[RestoreProgress] = []
    notified = on_progress(seen.append)
    step = RestoreProgress(
        restore_id="r", thread_id="t", n=1, of=1, subsystem="x", title="Do it", state="done"
    )
    notified("restore/progress", step)
    notified("resync", ResyncNotification(dropped=1))
    assert seen == [step]
