"""Edits as Codex tells them: exact content of added files, hunks of updated ones."""

import hashlib

from resumed.daemon.agents.codex.lines import Change
from resumed.daemon.agents.codex.patches import changed_files, patched_files
from resumed.restore.events.session import FilePatch, Hunk

PATCH = """*** Begin Patch
*** Add File: notes/a.txt
+one
+two
*** Update File: README.md
@@
 # scratch
+patched
@@ def f():
-old
+new
 end
*** Update File: b.txt
*** Move to: c.txt
@@
-x
+y
*** End of File
*** Delete File: /tmp/gone.txt
*** End Patch
"""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_input_of_apply_patch() -> None:
    assert patched_files(PATCH, "/w") == (
        FilePatch(path="/w/notes/a.txt", change="add", sha256=digest("one\ntwo\n"), lines_added=2),
        FilePatch(
            path="/w/README.md",
            change="update",
            hunks=(
                Hunk(before=("# scratch",), added=("patched",)),
                Hunk(removed=("old",), added=("new",), after=("end",)),
            ),
            lines_added=2,
            lines_removed=1,
        ),
        FilePatch(
            path="/w/c.txt",
            change="update",
            hunks=(Hunk(removed=("x",), added=("y",)),),
            moved_from="/w/b.txt",
            lines_added=1,
            lines_removed=1,
        ),
        FilePatch(path="/tmp/gone.txt", change="delete"),
    )


def test_an_input_of_another_form_has_no_edits() -> None:
    assert patched_files("rm -rf /", "/w") == ()


def test_a_completed_change() -> None:
    diff = "--- a\n+++ b\n@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n+3½\n four\n\\ No newline at end of file\n"
    changes = {
        "/w/b.txt": Change(type="update", unified_diff=diff),
        "/w/a.txt": Change(type="add", content="x\ny"),
        "/w/c.txt": Change(type="delete", content="gone\n"),
    }
    assert changed_files(changes, "/w") == (
        FilePatch(path="/w/a.txt", change="add", sha256=digest("x\ny"), lines_added=2),
        FilePatch(
            path="/w/b.txt",
            change="update",
            hunks=(
                Hunk(before=("one",), removed=("two",), added=("2",), after=("three",)),
                Hunk(before=("three",), added=("3½",), after=("four",)),
            ),
            lines_added=2,
            lines_removed=1,
        ),
        FilePatch(path="/w/c.txt", change="delete", lines_removed=1),
    )


def test_a_moved_update() -> None:
    change = Change(type="update", unified_diff="@@ -1 +1 @@\n-x\n+y\n", move_path="/w/new.txt")
    (patch,) = changed_files({"/w/old.txt": change}, "/w")
    assert (patch.path, patch.moved_from, patch.hunks[0].added) == ("/w/new.txt", "/w/old.txt", ("y",))


def test_a_form_feed_does_not_end_a_line() -> None:
    (patch,) = changed_files(
        {"/w/a": Change(type="update", unified_diff="@@ -1 +1,2 @@\n a\fb\n+c\r\n")}, "/w"
    )
    assert patch.hunks == (Hunk(before=("a\fb",), added=("c\r",)),)
