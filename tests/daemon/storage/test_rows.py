"""Rows and their columns: whatever text or number comes from the world goes in and out unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.daemon.storage.errors import CursorRefused
from resumed.daemon.storage.rows import (
    FILE_COLUMNS,
    THREAD_COLUMNS,
    FileCursor,
    ThreadRow,
    file_cursor,
    file_values,
    next_cursor,
    pack,
    parse_cursor,
    thread_row,
    thread_values,
    unpack,
)

text = st.text(st.characters(codec=None))


@given(name=text, root=text, branch=st.none() | text, archived=st.booleans(), runs=st.integers(0, 2**40))
def test_a_thread_row_comes_back(name: str, root: str, branch: str | None, archived: bool, runs: int) -> None:
    row = ThreadRow(
        thread_id="t",
        name=name,
        agent="codex",
        root=root,
        state="idle",
        created_at="2026",
        last_active_at="2027",
        source=root,
        branch=branch,
        origin=branch,
        native_id=branch,
        archived=archived,
        damaged=not archived,
        runs=runs,
    )
    values = thread_values(row)
    assert len(values) == THREAD_COLUMNS.count(",") + 2
    assert thread_row(values) == row
    assert values[-1] == pack(name.casefold())


@given(path=text, device=st.integers(0, 2**64 - 1), inode=st.integers(0, 2**64 - 1), head=st.binary())
def test_a_file_cursor_comes_back_with_numbers_of_64_bits(
    path: str, device: int, inode: int, head: bytes
) -> None:
    file = FileCursor(
        path=path,
        device=device,
        inode=inode,
        size=1,
        mtime_ns=2**62,
        thread_id="t",
        head=head,
    )
    values = file_values(file)
    assert len(values) == FILE_COLUMNS.count(",") + 1
    assert all(-(2**63) <= value < 2**63 for value in values if isinstance(value, int))
    assert file_cursor(values) == file


@given(content=text)
def test_any_text_packs(content: str) -> None:
    assert unpack(pack(content)) == content


def test_a_page_cursor_names_the_last_row() -> None:
    row = ThreadRow(
        thread_id="t-1",
        name="",
        agent="",
        root="",
        state="",
        created_at="",
        last_active_at="2026-01-02T03:04:05.678Z",
        source="own",
    )
    assert parse_cursor(next_cursor(row)) == ("2026-01-02T03:04:05.678Z", "t-1")


@pytest.mark.parametrize("cursor", ["", "x", "é", "\udc80", "W10=", "WzEsMl0=", "bnVsbA==", "!!!!", "W10"])
def test_a_cursor_from_elsewhere_is_refused(cursor: str) -> None:
    with pytest.raises(CursorRefused, match="begin without one"):
        parse_cursor(cursor)
