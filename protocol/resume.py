"""`thread/resume` and `drift/check`."""

from resumed.protocol.restore import Answer, Drift, Question, Wire


class ThreadResumeParams(Wire):
    """Resume a thread in this daemon's workspace.

    `answers` (with the `token` they were given for) come from an earlier `needsAnswer`. With
    `unattended` the unattended answers are taken and nobody is asked. A client that declared
    `restoreAsk` is asked by `restore/ask`; another gets `needsAnswer`.
    """

    thread: str
    answers: dict[str, Answer] = {}
    token: str | None = None
    unattended: bool = False


class DriftCheckParams(Wire):
    """Look at what changed since, without minting anything."""

    thread: str


class DriftCheckResult(Wire):
    """Everything that differs, and the questions a Resume would ask (`None` when it would not).

    What differs beside the place is as it will be where the suggested answers about the place lead.
    `unfinished` is a sentence on an earlier restore that was cut off and that a Resume would take back
    first; what differs after that can't be told yet, so nothing else is."""

    thread_id: str
    thread_name: str
    drifts: tuple[Drift, ...]
    question: Question | None
    not_known: tuple[str, ...] = ()
    unfinished: str | None = None
