"""The journal of removals: on record until all is gone; one that can't be read is never taken for none."""

from pathlib import Path

import msgspec
import pytest

from resumed.daemon.storage import purges
from resumed.daemon.storage.errors import StorageFailed
from resumed.daemon.storage.layout import Layout
from resumed.daemon.storage.purges import Purge
from resumed.protocol.ids import InvalidId
from tests.support.runs import SESSION
from tests.support.streams import THREAD_ID

WORKSPACE = "0" * 32
PURGE = Purge(thread_id=THREAD_ID, sessions=(SESSION,), contents=("ab" * 32,))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout.open(tmp_path / "state")


def test_one_is_begun_until_it_has_ended(layout: Layout) -> None:
    assert purges.begun(layout, THREAD_ID) is None
    assert purges.all_begun(layout) == frozenset()
    purges.begin(layout, PURGE)
    assert purges.begun(layout, THREAD_ID) == PURGE
    assert purges.is_begun(layout, THREAD_ID)
    assert purges.all_begun(layout) == {THREAD_ID}
    purges.end(layout, THREAD_ID)
    purges.end(layout, THREAD_ID)
    assert not purges.is_begun(layout, THREAD_ID)


@pytest.mark.parametrize("content", [b"", b"\xff", b"{}", b'{"thread_id":1}'])
def test_one_that_cannot_be_read_is_a_failure(layout: Layout, content: bytes) -> None:
    purges.begin(layout, PURGE)
    (layout.purges / f"{THREAD_ID}.json").write_bytes(content)
    assert purges.is_begun(layout, THREAD_ID)
    with pytest.raises(StorageFailed, match="can't be read"):
        purges.begun(layout, THREAD_ID)


def test_contents_may_be_left_for_later(layout: Layout) -> None:
    assert purges.contents_left(layout) == ()
    purges.leave_contents(layout, PURGE)
    (layout.purges / "33333333-3333-4333-8333-333333333333.contents").write_bytes(b"garbage")
    assert purges.contents_left(layout) == (PURGE,)
    assert purges.all_begun(layout) == frozenset()
    purges.leave_contents(layout, msgspec.structs.replace(PURGE, contents=("cd" * 32,)))
    (left,) = purges.contents_left(layout)
    assert left.contents == ("ab" * 32, "cd" * 32), "what an earlier removal left is not forgotten"
    purges.contents_done(layout, THREAD_ID)
    assert purges.contents_left(layout) == ()


def test_what_was_only_staged_counts_for_nothing_and_goes(layout: Layout) -> None:
    purges.begin(layout, Purge(thread_id=SESSION, sessions=()))
    for name in (f".{THREAD_ID}.json.staged", f".{THREAD_ID}.contents.staged", ".other.staged"):
        (layout.purges / name).touch()
    assert purges.staged(layout) == {THREAD_ID}
    assert purges.all_begun(layout) == {SESSION}
    purges.drop_staged(layout, THREAD_ID)
    assert purges.staged(layout) == frozenset()
    assert purges.all_begun(layout) == {SESSION}


def test_a_workspace_is_told_once_and_forgets(layout: Layout) -> None:
    assert purges.to_forget(layout, WORKSPACE) == frozenset()
    purges.tell_workspace(layout, WORKSPACE, THREAD_ID)
    purges.tell_workspace(layout, WORKSPACE, THREAD_ID)
    assert purges.to_forget(layout, WORKSPACE) == {THREAD_ID}
    purges.forgotten(layout, WORKSPACE, THREAD_ID)
    assert purges.to_forget(layout, WORKSPACE) == frozenset()


def test_only_ids_become_names(layout: Layout) -> None:
    with pytest.raises(InvalidId):
        purges.begin(layout, Purge(thread_id="../../x", sessions=()))
    with pytest.raises(InvalidId):
        purges.tell_workspace(layout, "../x", THREAD_ID)
