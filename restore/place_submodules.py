"""The submodules of a folder that is made new: git leaves their folders empty."""

import re

from resumed.restore.probes import FileSeen, Seen, TreeFileProbe
from resumed.restore.subsystem import Target
from resumed.restore.wording import listed

_PATH = re.compile(rb"^\s*path\s*=\s*(?P<path>.+?)\s*$", re.MULTILINE)


def submodule_probes(target: Target) -> tuple[TreeFileProbe, ...]:
    """What to look at before the folder is there."""
    if not target.recreated or target.repository is None or target.commit is None:
        return ()
    return (TreeFileProbe(target.repository, target.commit, ".gitmodules"),)


def empty_submodules(seen: Seen, target: Target) -> tuple[str, ...]:
    """A sentence that names them, with the command that fills them; none where there are none."""
    for probe in submodule_probes(target):
        modules = seen.get(probe)
        content = modules.content if isinstance(modules, FileSeen) else None
        names = [
            found["path"].decode("utf-8", "backslashreplace") for found in _PATH.finditer(content or b"")
        ]
        if names:
            if len(names) == 1:
                return (f"The submodule {names[0]} is empty: `git submodule update --init` fills it.",)
            return (f"The submodules {listed(names)} are empty: `git submodule update --init` fills them.",)
    return ()
