"""What can be wrong with a state folder: each class once, with what mends it, in people's words.

Nothing that mends ever loses a byte that may be the only copy of something.
"""

import msgspec

CLASSES: dict[str, str] = {
    "folder.refused": "Give the folder to yourself alone, or set RESUMED_HOME to another one.",
    "folder.remote": "It can be read. To write, set RESUMED_HOME to a folder on a disk of this machine.",
    "folder.newer": "It can be read. The newer version can write it.",
    "folder.identity": "It can be read. Put the file back from a copy of yours, if there is one.",
    "folder.key": "It can be read. Put the file back from a copy of yours, if there is one.",
    "mode.folder": "--repair makes it yours alone.",
    "mode.file": "--repair makes it yours alone.",
    "record.unreadable": "Make it readable for yourself; nothing else of it is touched.",
    "record.newer": "It can be read; the newer version can go on in it.",
    "record.firstLine": "It can only be read. What stands behind its first line is shown.",
    "record.badLine": "What the line held is lost; all others count. The bytes stay where they are.",
    "record.missing": "What was in between is lost; everything else counts.",
    "record.segment": "A file of the record is lost; put it back from a copy of yours, if there is one.",
    "record.order": "What comes out of order does not count; the first one does.",
    "record.tornTail": "Nobody was told that it was written. --repair copies it to the quarantine folder.",
    "record.empty": "Nothing was ever written to it. --repair removes it.",
    "record.orphan": "The file that it continues is gone; put it back from a copy of yours, if there is one.",
    "record.twoPlaces": "It is whole in one of them. The next start removes the rest.",
    "run.missing": "What the run held is lost; put its file back from a copy of yours, if there is one.",
    "thread.missing": "Its name is lost; the next Resume lists its runs again. Or put a copy of yours back.",
    "worktree.lost": "That place is told by address and commits. Put a copy of yours back, if you have one.",
    "index.absent": "The next start makes it anew.",
    "index.corrupt": "--repair sets it aside; the next start makes it anew. The records are not affected.",
    "index.behind": "The next start catches up.",
    "index.ahead": "What had been written is gone; put it back from a copy of yours, if there is one.",
    "contents.corrupt": "The next use sets it aside into the quarantine folder and begins a new file.",
    "contents.newer": "It can be used by the newer version.",
    "contents.missing": "What only this content held is lost; the version of the file it belongs to says so.",
    "contents.damaged": "What only this content held is lost; the version of the file it belongs to says so.",
    "leftover.staged": "It was never put in its place. --repair removes it while no process of ours runs.",
    "leftover.import": "The next start finishes what was decided and removes the rest.",
    "leftover.purge": "The next start finishes the removal.",
    "leftover.lock": "--repair removes it while no process of ours runs.",
    "leftover.socket": "--repair removes it.",
}
"""What mends each class."""

HARMLESS = frozenset(
    {
        "index.absent",
        "index.behind",
        "record.tornTail",
        "record.empty",
        "record.twoPlaces",
        "leftover.staged",
        "leftover.import",
        "leftover.purge",
        "leftover.lock",
        "leftover.socket",
    }
)
"""Classes by which nothing is lost, and which mend themselves or stand in nobody's way."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that is not as it should be: its class, the file, one sentence. `stream` names the record
    that the file belongs to, where it is one."""

    kind: str
    path: str
    sentence: str
    stream: str = ""
    repaired: bool = False

    @property
    def repair(self) -> str:
        """What mends it."""
        return CLASSES[self.kind]

    @property
    def harmless(self) -> bool:
        """Whether nothing is lost by it."""
        return self.kind in HARMLESS
