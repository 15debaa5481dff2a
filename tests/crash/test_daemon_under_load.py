"""The daemon is killed again and again while eight agents append: what it acknowledged is there, once.

A kill comes after a number of acknowledgements that a seeded random draws, so also while runs are begun
and taken up again. What was not acknowledged is sent again under its id, as an agent would.
"""

import asyncio
import os
import random
import uuid
from pathlib import Path

import pytest

from resumed.daemon.rpc.client import Client, ConnectionLost
from resumed.protocol.sessions import (
    AgentInfo,
    EventAppendParams,
    EventAppendResult,
    SessionStartParams,
    SessionStartResult,
)
from resumed.restore.events.session import EntryAdded
from tests.support.killed_agent import events, session_file
from tests.support.workspace import Serving, serving

AGENTS = 8
KILLS_IN_CI = 100
KILLS = int(os.environ.get("RESUMED_TEST_KILLS") or (KILLS_IN_CI if os.environ.get("CI") == "true" else 20))
KILLS_OF_A_RUN = 10
MOST_ANSWERS = 160
DEADLINE = 60.0


class Kill:
    """Kills the daemon when it has answered so many times."""

    def __init__(self, daemon: Serving, answers: int) -> None:
        self._daemon = daemon
        self._left = answers

    def answered(self) -> None:
        """Count one answer."""
        self._left -= 1
        if self._left == 0:
            self._daemon.kill()


class Agent:
    """One agent with a run of its own: what it has sent, and under which number it was acknowledged."""

    def __init__(self, folder: Path) -> None:
        self._start = SessionStartParams(
            agent=AgentInfo(name="mender"), cwd=str(folder), session_id=str(uuid.uuid4())
        )
        self._pending = self._next()
        self.acknowledged: dict[str, int] = {}
        self.repeated = 0

    async def work(self, daemon: Serving, kill: Kill) -> None:
        """Take up the run and append one event after the other until the daemon is gone."""
        try:
            async with await Client.connect(daemon.place.socket) as connection:
                await connection.initialize("mender")
                started: SessionStartResult = await connection.call("session/start", self._start)
                assert started.session_id == self._start.session_id
                kill.answered()
                while True:
                    await self._append(connection)
                    kill.answered()
        except (ConnectionLost, ConnectionError, FileNotFoundError):
            return

    def check(self) -> None:
        """Everything acknowledged is there under its number, in the order of sending, and nothing else."""
        assert self._start.session_id is not None
        if not self.acknowledged:
            return
        found = [each for each in events(session_file(self._start.session_id)) if _is_entry(each.payload)]
        there = {each.event_id: each.seq for each in found}
        assert len(there) == len(found), "an event is there twice"
        lost = {name: seq for name, seq in self.acknowledged.items() if there.get(name) != seq}
        assert not lost, f"acknowledged and not there: {lost}"
        assert set(there) - set(self.acknowledged) <= {self._pending.event_id}, "an event that nobody sent"
        assert list(there)[: len(self.acknowledged)] == list(self.acknowledged)

    async def _append(self, connection: Client) -> None:
        answer: EventAppendResult = await connection.call("event/append", self._pending)
        self.acknowledged[self._pending.event_id] = answer.seq
        self.repeated += answer.repeated
        self._pending = self._next()

    def _next(self) -> EventAppendParams:
        assert self._start.session_id is not None
        return EventAppendParams(
            session_id=self._start.session_id,
            event_id=str(uuid.uuid4()),
            type="entry_added",
            payload={"kind": "message", "role": "assistant", "text": "round down " * 20},
        )


def _is_entry(payload: object) -> bool:
    return isinstance(payload, EntryAdded)


@pytest.mark.timeout(3600)
async def test_a_daemon_killed_under_load_loses_invents_and_doubles_nothing(tmp_path: Path) -> None:
    draw = random.Random(KILLS)
    agents: list[Agent] = []
    with serving(tmp_path) as daemon:
        for kills in range(KILLS):
            if kills % KILLS_OF_A_RUN == 0:
                agents += [Agent(tmp_path) for _ in range(AGENTS)]
            if kills:
                daemon.start_again()
            at_work = agents[-AGENTS:]
            kill = Kill(daemon, draw.randint(1, MOST_ANSWERS))
            await asyncio.wait_for(asyncio.gather(*(agent.work(daemon, kill) for agent in at_work)), DEADLINE)
            assert daemon.process.poll() is not None
            for agent in at_work:
                agent.check()
        for agent in agents:
            agent.check()
    count = sum(len(agent.acknowledged) for agent in agents)
    repeated = sum(agent.repeated for agent in agents)
    print(
        f"{KILLS} kills, {count} events acknowledged and found, {repeated} of them not told before the kill"
    )
    assert count > KILLS
