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
    """Everything that differs, and the questions a Resume would ask (`None` when it would not)."""

    thread_id: str
    thread_name: str
    drifts: tuple[Drift, ...]
    question: Question | None
    not_known: tuple[str, ...] = ()
