"""Keeping conversations: put away, brought back, removed for good, carried elsewhere."""

from resumed.protocol.restore import Wire


class ThreadArchiveParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either."""

    thread_id: str


class ThreadArchiveResult(Wire):
    """Where the thread is now. `changed` is false when it was there already. `depends_on` names the
    agent's own file, which stays where it is."""

    thread_id: str
    name: str
    archived: bool
    changed: bool
    depends_on: str | None = None


class ThreadPurgeParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either. It is done at once: ask before."""

    thread_id: str


class ThreadPurgeResult(Wire):
    """What was removed: files of ours with their bytes, and contents that nothing else named.
    `contents_later` are removed once it is safe, a day later; `contents_shared` stay, since something else
    names them. `depends_on` names the agent's own file, which stays, and from which the thread is listed
    again. `notes` say what else a person should know."""

    thread_id: str
    name: str
    files: int
    bytes: int
    contents: int = 0
    contents_shared: int = 0
    contents_later: int = 0
    depends_on: str | None = None
    notes: tuple[str, ...] = ()


class ThreadPurged(Wire):
    """A thread was removed for good. One that its agent still has a file of is told of again after this."""

    thread_id: str


class ThreadExportParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either. `path` is absolute, of the machine where
    the daemon runs, and outside of its state folder; nothing may be there yet."""

    thread_id: str
    path: str


class ThreadExportResult(Wire):
    """The file is there, durably: `bytes` long, with this `sha256`. It holds `runs` and `contents`.
    `missing` counts contents that are not kept any more. `depends_on` names the agent's own file, which
    is not part of it: take that along, too."""

    thread_id: str
    name: str
    path: str
    bytes: int
    sha256: str
    runs: int
    contents: int
    missing: int = 0
    depends_on: str | None = None


class ThreadImportParams(Wire):
    """`path` is absolute, of the machine where the daemon runs."""

    path: str


class ThreadImportResult(Wire):
    """`status` is `imported`, or `present`: all that the file holds is here already, and nothing was
    changed. `depends_on` names the agent's own file as it was where the thread comes from."""

    thread_id: str
    name: str
    status: str
    runs: int
    contents: int
    missing: int = 0
    depends_on: str | None = None


class ThreadReleaseParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either. `by` says who asks, for people; by default
    the client's own name."""

    thread_id: str
    by: str = ""


class ThreadReleaseResult(Wire):
    """`released`: nobody has the thread now. Otherwise `asked` says whether its holder could be told, and
    `holder` who that is; it lets go once what it is in the middle of has ended, or never."""

    thread_id: str
    released: bool
    asked: bool = False
    holder: str = ""


class ThreadReleaseAsked(Wire):
    """Somebody else (`by`) wants to go on with a thread that a client here has. `released`: its run
    `session_id` was let go, since no turn and no action was open; it can be taken up again by `session/start`
    once the thread is free. Otherwise that happens when they have ended; a client that shows a question of a
    restore may leave it."""

    thread_id: str
    by: str
    released: bool
    session_id: str | None = None


class ThreadDiagnoseParams(Wire):
    """`thread_id` is an id, a name, or a unique part of either."""

    thread_id: str


class DiagnosedDifference(Wire):
    """One thing that is not as the record says."""

    what: str
    expected: str
    actual: str


class DiagnosedLayer(Wire):
    """One layer: `history` (what was said and done), `metadata` (what lists show), `subsystems` (each part
    of the state), `context` (what the model would see). Where the history is damaged the others can't be
    judged by it."""

    name: str
    judged: bool = True
    differences: tuple[DiagnosedDifference, ...] = ()


class ThreadDiagnoseResult(Wire):
    """The four layers of a thread, each with what differs from its whole record."""

    thread_id: str
    name: str
    layers: tuple[DiagnosedLayer, ...]
