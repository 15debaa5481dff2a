"""Looks at a whole state folder, without any process of ours and without writing, and mends what it may."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from resumed.daemon.keeping import database_checks, folder_checks, leftover_checks, record_checks
from resumed.daemon.keeping.findings import Finding
from resumed.daemon.keeping.repairs import repair
from resumed.daemon.storage.layout import Layout


class Examination(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was found in the state folder, and how many records were read."""

    state_folder: str
    findings: tuple[Finding, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is lost and nothing is left to be mended by a person."""
        return all(finding.harmless or finding.repaired for finding in self.findings)


def examine(home: Path) -> Examination:
    """Check everything; changes nothing. One that is not there yet is sound."""
    return Examination(state_folder=str(home), findings=tuple(_found(home)))


def mend(examination: Examination) -> Examination:
    """Repair what loses no byte; the findings then say which of them are repaired. A folder that may not be
    written is left as it is. Raises `OSError`."""
    if any(finding.kind.startswith("folder.") for finding in examination.findings):
        return examination
    layout = _reading(Path(examination.state_folder))
    findings = tuple(
        msgspec.structs.replace(finding, repaired=repair(layout, finding)) for finding in examination.findings
    )
    return msgspec.structs.replace(examination, findings=findings)


def _found(home: Path) -> Iterator[Finding]:
    if not home.exists():
        return
    refused = False
    for finding in folder_checks.folder(home):
        refused = refused or finding.kind == "folder.refused"
        yield finding
    if refused:
        return
    layout, seen = _reading(home), record_checks.Seen()
    yield from folder_checks.modes(home)
    yield from record_checks.records(layout, seen)
    yield from database_checks.indexes(layout)
    yield from database_checks.contents(layout, seen.contents)
    yield from leftover_checks.leftovers(layout)


def _reading(home: Path) -> Layout:
    """The places in the folder, without opening it: that would make what is missing."""
    return Layout(home=home, install_id="", key=b"", read_only=True, reason="It is being examined.")
