import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.restore.events.session import Hunk
from resumed.restore.patches import (
    ABSENT,
    PRESENT,
    UNKNOWN,
    hunk_state,
    lines_of,
    patch_state,
    still_expected,
)

CONTEXT = 3
UPDATE = Hunk(before=("a", "b"), removed=("c",), added=("C",), after=("d", "e"))
INSERT = Hunk(before=("a",), added=("x",), after=("b",))
DELETE = Hunk(before=("a",), removed=("x",), after=("b",))


def state(hunk: Hunk, lines: str) -> str:
    return hunk_state(hunk, list(lines))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        ("a\x0cb\u2028c\x85d\n".encode(), ["a\x0cb\u2028c\x85d"]),
        (b"\xff\n", ["\udcff"]),
    ],
)
def test_only_a_newline_ends_a_line(content: bytes, lines: list[str]) -> None:
    assert lines_of(content) == lines


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("abCde", PRESENT),
        ("abcde", ABSENT),
        ("zbCzz", PRESENT),
        ("zzCde", PRESENT),
        ("zbczz", ABSENT),
        ("zzCzz", UNKNOWN),
        ("abde", UNKNOWN),
        ("", UNKNOWN),
        ("abCdeabcde", UNKNOWN),
        ("abCdezbczz", PRESENT),
    ],
)
def test_an_update_is_found_by_its_nearest_context(lines: str, expected: str) -> None:
    assert state(UPDATE, lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("axb", PRESENT), ("ab", ABSENT), ("axz", PRESENT), ("zxb", PRESENT), ("azb", UNKNOWN), ("a", UNKNOWN)],
)
def test_an_insertion(lines: str, expected: str) -> None:
    assert state(INSERT, lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [("ab", PRESENT), ("axb", ABSENT), ("axz", ABSENT), ("azb", UNKNOWN), ("b", UNKNOWN)],
)
def test_a_deletion_is_present_only_where_both_sides_meet(lines: str, expected: str) -> None:
    assert state(DELETE, lines) == expected


def test_a_line_taken_out_of_equal_ones() -> None:
    hunk = Hunk(before=("a", "x"), removed=("x",), after=("b",))
    assert state(hunk, "axb") == PRESENT
    assert state(hunk, "axxb") == ABSENT


def test_an_insertion_between_lines_that_also_meet_elsewhere() -> None:
    hunk = Hunk(before=("f", "}"), added=("new",), after=("}", "g"))
    lines = ["f", "}", "new", "}", "g", "h", "}", "}", "i"]
    assert hunk_state(hunk, lines) == PRESENT
    assert hunk_state(hunk, [line for line in lines if line != "new"]) == ABSENT


def test_the_edge_of_the_file_is_context_too() -> None:
    first = Hunk(added=("x",), after=("a",))
    assert (state(first, "xa"), state(first, "a"), state(first, "zz")) == (PRESENT, ABSENT, UNKNOWN)
    last = Hunk(before=("a",), added=("x",))
    assert (state(last, "ax"), state(last, "a")) == (PRESENT, ABSENT)
    whole = Hunk(added=("x",))
    assert (state(whole, "x"), state(whole, "")) == (PRESENT, ABSENT)


def test_line_ends_do_not_count() -> None:
    windows = Hunk(before=("a\r",), removed=("b\r",), added=("B\r",), after=("c\r",))
    assert hunk_state(windows, lines_of(b"a\r\nB\r\nc\r\n")) == PRESENT
    assert hunk_state(windows, lines_of(b"a\nb\nc\n")) == ABSENT


def test_a_hunk_without_a_change_says_nothing() -> None:
    assert state(Hunk(before=("a",), after=("b",)), "ab") == UNKNOWN


def test_a_patch_is_present_or_absent_as_a_whole() -> None:
    both = (INSERT, Hunk(before=("d",), added=("y",), after=("e",)))
    assert patch_state(both, list("axbdye")) == PRESENT
    assert patch_state(both, list("abde")) == ABSENT
    assert patch_state(both, list("axbde")) == UNKNOWN
    assert patch_state((), list("ab")) == UNKNOWN


def test_what_a_later_edit_replaced_is_not_looked_for() -> None:
    other = Hunk(before=("q",), added=("y",), after=("r",))
    later = Hunk(before=("a",), removed=("x",), added=("z",), after=("b",))
    assert still_expected((INSERT, other), (later,)) == (other,)
    assert still_expected((DELETE, other), (INSERT,)) == (other,)
    assert still_expected((INSERT, other), ()) == (INSERT, other)


@st.composite
def edits(
    draw: st.DrawFn, alphabet: str = "ab{}", *, distinct: bool = False
) -> tuple[Hunk, list[str], list[str]]:
    """An edit with its whole context, the file before and the file after."""
    if distinct:
        lines = [str(number) for number in range(draw(st.integers(0, 12)))]
    else:
        lines = draw(st.lists(st.sampled_from(alphabet), max_size=12))
    start = draw(st.integers(0, len(lines)))
    end = draw(st.integers(start, min(start + 3, len(lines))))
    new = st.sampled_from(["new1", "new2"] if distinct else alphabet)
    added = draw(st.lists(new, max_size=3, unique=distinct, min_size=0 if end > start else 1))
    hunk = Hunk(
        before=tuple(lines[max(start - CONTEXT, 0) : start]),
        removed=tuple(lines[start:end]),
        added=tuple(added),
        after=tuple(lines[end : end + CONTEXT]),
    )
    return hunk, lines, [*lines[:start], *added, *lines[end:]]


@given(edits())
def test_an_edit_that_stands_is_never_called_absent_nor_the_other_way_round(
    edit: tuple[Hunk, list[str], list[str]],
) -> None:
    hunk, before, after = edit
    if before == after:
        return
    assert hunk_state(hunk, after) in (PRESENT, UNKNOWN)
    assert hunk_state(hunk, before) in (ABSENT, UNKNOWN)


@given(edits(distinct=True))
def test_among_lines_that_differ_there_is_no_doubt(edit: tuple[Hunk, list[str], list[str]]) -> None:
    hunk, before, after = edit
    assert hunk_state(hunk, after) == PRESENT
    assert hunk_state(hunk, before) == ABSENT


@given(edits(distinct=True), st.lists(st.sampled_from(["u1", "u2"]), max_size=4))
def test_lines_written_elsewhere_do_not_hide_an_edit(
    edit: tuple[Hunk, list[str], list[str]], written: list[str]
) -> None:
    hunk, _, after = edit
    if not hunk.added or not hunk.before or len(hunk.before) == len(after):
        return
    assert hunk_state(hunk, [*written, *after]) == PRESENT
