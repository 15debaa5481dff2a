"""What a folder that is made new lacks of its submodules is named."""

import msgspec
import pytest

from resumed.restore.place_submodules import empty_submodules, submodule_probes
from resumed.restore.probes import FileSeen, Seen, TreeFileProbe, Unseen
from resumed.restore.subsystem import Here, Target

NEW = Target(
    here=Here(root="/r", home="/h", agent="mine"),
    recorded_root="/w",
    recreated=True,
    repository="/r",
    commit="c",
)
MODULES = TreeFileProbe("/r", "c", ".gitmodules")
ONE = b'[submodule "a"]\n\tpath = lib/a\n\turl = ../a\n'
TWO = ONE + b'[submodule "b"]\n\turl = ../b\n\tpath=b b\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (ONE, ("The submodule lib/a is empty: `git submodule update --init` fills it.",)),
        (TWO, ("The submodules lib/a and b b are empty: `git submodule update --init` fills them.",)),
        (b"", ()),
        (b"\xff\0 path", ()),
        (None, ()),
    ],
)
def test_each_is_named(content: bytes | None, said: tuple[str, ...]) -> None:
    seen: Seen = {MODULES: FileSeen(kind="regular", content=content)}
    assert submodule_probes(NEW) == (MODULES,)
    assert empty_submodules(seen, NEW) == said


def test_without_any_nothing_is_said() -> None:
    assert empty_submodules({MODULES: FileSeen(kind="absent")}, NEW) == ()
    assert empty_submodules({MODULES: Unseen("timeout")}, NEW) == ()


def test_a_folder_that_is_there_has_its_own() -> None:
    assert submodule_probes(msgspec.structs.replace(NEW, recreated=False)) == ()
