"""Drives a look at what changed: observes, and nothing else."""

import os

from resumed.daemon.agents.agent import Launcher
from resumed.daemon.observe import Observer
from resumed.protocol.restore import Question
from resumed.protocol.resume import DriftCheckResult
from resumed.restore.check import Checked, check
from resumed.restore.context import RestoreContext
from resumed.restore.effects import Observe, Reply
from resumed.restore.report import ROUNDS
from resumed.restore.snapshot import Record
from resumed.restore.subsystem import Here
from resumed.restore.subsystems import SUBSYSTEMS


class Checker:
    """Checks threads against the world around one workspace root."""

    def __init__(self, root: str, observer: Observer) -> None:
        self._root = root
        self._observer = observer

    async def check(self, record: Record, launcher: Launcher | None) -> DriftCheckResult:
        """Everything that differs, and the first questions a Resume would ask. `launcher` would start
        the thread's agent."""
        home = os.path.expanduser("~")
        here = Here(
            root=self._root,
            home=home,
            agent=record.agent,
            real_home=os.path.realpath(home),
            approvals=launcher.approvals if launcher else None,
        )
        looking = check(record, SUBSYSTEMS, RestoreContext(restore_id="", session_id="", now="", here=here))
        reply: Reply = None
        try:
            while True:
                effect = looking.send(reply)
                assert isinstance(effect, Observe)
                reply = await self._observer.observe(effect.probes)
        except StopIteration as ended:
            checked: Checked = ended.value
        question = Question(
            restore_id="",
            thread_id=record.thread_id,
            thread_name=record.name,
            token=checked.token,
            round=checked.round,
            rounds=ROUNDS,
            drifts=checked.asked,
        )
        return DriftCheckResult(
            thread_id=record.thread_id,
            thread_name=record.name,
            drifts=checked.drifts,
            question=question if checked.asked else None,
            not_known=checked.not_known,
        )
