import msgspec
import pytest

from resumed.restore.events.session import FilePatch, Hunk
from resumed.restore.probes import FileProbe, FileSeen, TreeFileProbe, Unseen
from resumed.restore.subsystem import Here, Target
from resumed.restore.touched import ABSENT, Touched, hashed, moved, probe_for, relative, state_now, touch
from tests.support.events import HERE
from tests.support.simulation import digest

ROOT = "/srv/shop"
AT = Target(here=HERE, recorded_root=ROOT, root="/srv/new")
OLD, NEW = b"a\nold\nb\n", b"a\nnew\nb\n"
HUNK = Hunk(before=("a",), removed=("old",), added=("new",), after=("b",))


def seen(content: bytes | None, kind: str = "regular") -> FileSeen:
    if content is None:
        return FileSeen(kind="absent")
    return FileSeen(kind=kind, sha256=digest(content), size=len(content), content=content)


def update(path: str = "f", *hunks: Hunk, moved_from: str | None = None) -> FilePatch:
    return FilePatch(path=path, change="update", hunks=hunks or (HUNK,), moved_from=moved_from)


def add(path: str = "f", content: bytes | None = NEW) -> FilePatch:
    return FilePatch(path=path, change="add", sha256=None if content is None else digest(content))


def delete(path: str = "f") -> FilePatch:
    return FilePatch(path=path, change="delete")


def after(*patches: FilePatch) -> dict[str, Touched]:
    files: dict[str, Touched] = {}
    for patch in patches:
        touch(files, patch)
    return files


def state(content: bytes | None, *patches: FilePatch) -> str:
    return state_now(after(*patches)["f"], seen(content))


def test_an_added_file_is_known_by_its_bytes() -> None:
    assert state(NEW, add()) == "present"
    assert state(OLD, add()) == "changed"
    assert state(None, add()) == "gone"


def test_an_updated_file_is_known_by_its_edit() -> None:
    assert state(NEW, update()) == "present"
    assert state(b"zz\n" + NEW + b"zz\n", update()) == "present"
    assert state(OLD, update()) == "reverted"
    assert state(b"a\nmine\nb\n", update()) == "changed"
    assert state(None, update()) == "gone"


def test_a_deleted_file_is_known_to_be_away() -> None:
    assert state(None, delete()) == "present"
    assert state(OLD, delete()) == "reverted"
    assert state(None, add(), delete()) == "present"
    assert state(NEW, add(), delete()) == "changed"


def test_what_could_not_be_seen_is_never_as_left() -> None:
    for file in (after(add())["f"], after(update())["f"], after(delete())["f"]):
        assert state_now(file, Unseen("timeout")) == "unknown"
        assert state_now(file, None) == "unknown"
    too_large = FileSeen(kind="regular", sha256=digest(NEW), size=1 << 30)
    assert state_now(after(update())["f"], too_large) == "unknown"
    assert state_now(after(add())["f"], too_large) == "present"


@pytest.mark.parametrize("patch", [add(content=None), FilePatch(path="f", change="update")])
def test_an_edit_of_which_nothing_is_known_stays_unknown(patch: FilePatch) -> None:
    assert state(NEW, patch) == "unknown"
    assert state(NEW, patch, update()) == "unknown"


def test_a_file_that_is_something_else_now() -> None:
    assert state_now(after(add())["f"], FileSeen(kind="folder")) == "changed"
    assert state_now(after(update())["f"], FileSeen(kind="folder")) == "changed"
    assert state_now(after(update())["f"], seen(b"elsewhere", "link")) == "unknown"


def test_the_last_edit_of_the_same_lines_counts() -> None:
    again = Hunk(before=("a",), removed=("new",), added=("newer",), after=("b",))
    assert state(b"a\nnewer\nb\n", update(), update("f", again)) == "present"
    assert state(NEW, update(), update("f", again)) == "reverted"


def test_every_place_that_no_later_edit_touched_counts() -> None:
    two = (HUNK, Hunk(before=("p",), removed=("q",), added=("Q",), after=("r",)))
    again = Hunk(before=("a",), removed=("new",), added=("newer",), after=("b",))
    whole = b"a\nnewer\nb\np\nQ\nr\n"
    assert state(whole, update("f", *two), update("f", again)) == "present"
    assert state(whole.replace(b"Q", b"q"), update("f", *two), update("f", again)) == "changed"


def test_taking_an_edit_back_leaves_nothing_of_it() -> None:
    back = Hunk(before=("a",), removed=("new",), added=("old",), after=("b",))
    assert state(OLD, update(), update("f", back)) == "present"
    gone = Hunk(before=("a",), removed=("old",), after=("b",))
    again = Hunk(before=("a",), added=("old",), after=("b",))
    assert state(OLD, update("f", gone), update("f", again)) == "present"


def test_an_update_after_an_add_is_looked_for_by_its_edit() -> None:
    files = after(add(content=OLD), update())
    assert (files["f"].change, files["f"].before, files["f"].sha256) == ("add", ABSENT, None)
    assert state_now(files["f"], seen(NEW)) == "present"
    assert state_now(files["f"], seen(OLD)) == "reverted"
    assert state(NEW, delete(), add()) == "present"


def test_lines_are_counted() -> None:
    counted = msgspec.structs.replace(update(), lines_added=2, lines_removed=1)
    file = after(counted, counted)["f"]
    assert (file.lines_added, file.lines_removed) == (4, 2)


def test_a_moved_file_takes_its_edits_along() -> None:
    files = after(update("g"), update("f", moved_from="g"))
    assert list(files) == ["f", "g"]
    assert state_now(files["f"], seen(NEW)) == "present"
    assert state_now(files["f"], seen(None)) == "gone"
    assert state_now(files["g"], seen(None)) == "present"
    assert state_now(files["g"], seen(OLD)) == "reverted"


def test_a_new_file_that_is_moved_leaves_nothing_behind() -> None:
    files = after(add("g"), FilePatch(path="f", change="update", moved_from="g"))
    assert list(files) == ["f"]
    assert state_now(files["f"], seen(NEW)) == "present"
    assert list(after(update("f", moved_from="f"))) == ["f"]


def test_hashes_around_an_operation() -> None:
    files: dict[str, Touched] = {}
    hashed(files, "same", "1", "1")
    hashed(files, "f", digest(OLD), digest(NEW))
    hashed(files, "made", ABSENT, digest(NEW))
    hashed(files, "removed", digest(OLD), ABSENT)
    hashed(files, "unknown", None, digest(NEW))
    assert {path: file.change for path, file in files.items()} == {
        "f": "update",
        "made": "add",
        "removed": "delete",
        "unknown": "update",
    }
    assert [state_now(files["f"], seen(content)) for content in (NEW, OLD, b"x", None)] == [
        "present",
        "reverted",
        "changed",
        "gone",
    ]
    assert state_now(files["removed"], seen(OLD)) == "reverted"
    assert state_now(files["removed"], seen(NEW)) == "changed"


@pytest.mark.parametrize("kind", ["folder", "link", "other"])
def test_a_deleted_file_is_not_back_when_something_else_is_there(kind: str) -> None:
    hashed_before: dict[str, Touched] = {}
    hashed(hashed_before, "f", digest(OLD), ABSENT)
    for files in (hashed_before, after(delete())):
        assert state_now(files["f"], FileSeen(kind=kind)) == "changed"
        assert state_now(files["f"], seen(OLD)) == "reverted"
    linked = FileSeen(kind="link", sha256=digest(b"target"))
    assert state_now(after(delete())["f"], linked) == "changed"
    hashed_before["f"].before = digest(b"target")
    assert state_now(hashed_before["f"], linked) == "reverted"


def test_a_hash_is_more_than_an_edit() -> None:
    files = after(update())
    hashed(files, "f", digest(OLD), digest(NEW))
    assert (files["f"].sha256, files["f"].edits) == (digest(NEW), [])
    assert state_now(files["f"], seen(NEW + b"more")) == "changed"


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a/b.py", "a/b.py"),
        ("./a//b.py", "a/b.py"),
        (f"{ROOT}/a/b.py", "a/b.py"),
        (f"{ROOT}-2/a", f"{ROOT}-2/a"),
        ("/etc/hosts", "/etc/hosts"),
        ("../other/a", "/srv/other/a"),
        (f"{ROOT}/../other/a", "/srv/other/a"),
        (f"{ROOT}/a/../b", "b"),
    ],
)
def test_paths_are_relative_to_the_recorded_root(path: str, inside: str) -> None:
    assert relative(path, AT) == inside


def test_without_a_recorded_root_nothing_is_inside_it() -> None:
    nowhere = msgspec.structs.replace(AT, recorded_root="")
    assert relative("/etc/hosts", nowhere) == "/etc/hosts"


def test_where_a_file_is_looked_for() -> None:
    assert probe_for(f"{ROOT}/a", AT) == FileProbe("/srv/new/a")
    assert probe_for("/etc/hosts", AT) == FileProbe("/etc/hosts")
    assert probe_for("a", msgspec.structs.replace(AT, root=None)) is None


def test_before_a_switch_a_file_is_that_of_the_commit_unless_it_is_carried() -> None:
    target = msgspec.structs.replace(AT, repository=ROOT, commit="c", carried=("a", "new/"))
    assert probe_for("b", target) == TreeFileProbe(ROOT, "c", "b")
    assert probe_for("a", target) == FileProbe("/srv/new/a")
    assert probe_for("new/deep/x", target) == FileProbe("/srv/new/new/deep/x")
    assert probe_for("newer", target) == TreeFileProbe(ROOT, "c", "newer")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/link/dev/shop/a", "a"),
        ("/mnt/dev/shop/a", "a"),
        ("/home/dev/shop/a/../b", "b"),
        ("sub/a", "sub/a"),
        ("/mnt/dev/shop-2/a", "/mnt/dev/shop-2/a"),
        ("/mnt/dev/shop", "/mnt/dev/shop"),
    ],
)
def test_a_path_is_relative_by_whichever_name_of_the_root_it_has(path: str, expected: str) -> None:
    here = Here(root="/mnt/dev/shop", home="/home/dev", agent="codex", real_home="/mnt/dev")
    linked = Target(here=here, recorded_root="/link/dev/shop", canonical_root="/mnt/dev/shop")
    assert relative(path, linked) == expected
    away = Target(here=here, recorded_root="/srv/shop", canonical_root="/srv/shop")
    assert relative("/home/dev/shop/a", away) == "/home/dev/shop/a"


def test_a_path_goes_with_its_root() -> None:
    assert moved("/a/x/y", ("/b", "/a/"), "/new") == "/new/x/y"
    assert moved("/ab/x", ("/a",), "/new") == "/ab/x"
    assert moved("/a/new/x", ("/a",), "/a/new") == "/a/new/x"
    assert moved("x", ("/a",), "/new") == "x"
