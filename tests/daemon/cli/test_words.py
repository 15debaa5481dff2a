import os
import subprocess
from datetime import UTC, datetime, timedelta, timezone

import pytest

from resumed.daemon.cli.words import Reader, clean, typed, typed_folder, when

NOW = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("timestamp", "words"),
    [
        ("2026-03-04T10:00:00Z", "0 s ago"),
        ("2026-03-04T09:59:40.250Z", "19 s ago"),
        ("2026-03-04T09:01:00Z", "59 min ago"),
        ("2026-03-04T08:00:00Z", "today 08:00"),
        ("2026-03-03T23:59:00Z", "yesterday 23:59"),
        ("2026-03-01T12:00:00Z", "Sunday 12:00"),
        ("2026-02-25T12:00:00Z", "25 Feb 12:00"),
        ("2025-12-31T12:00:00Z", "31 Dec 2025"),
        ("2026-03-04T11:30:00Z", "today 11:30"),
        ("2026-03-06T11:30:00Z", "6 Mar 11:30"),
        ("2026-03-04T12:00:00+03:00", "today 09:00"),
        ("not a time", "at a time not known"),
        ("", "at a time not known"),
    ],
)
def test_a_time_is_said_as_seen_from_now(timestamp: str, words: str) -> None:
    assert when(timestamp, NOW) == words


def test_days_are_those_of_the_reader() -> None:
    far_east = timezone(timedelta(hours=9))
    assert when("2026-03-03T16:00:00Z", NOW.astimezone(far_east)) == "today 01:00"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("plain “text” 日本", "plain “text” 日本"),
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x9b2Jb", "ab"),
        ("a\x1bcb", "ab"),
        ("a\x1b(0b", "ab"),
        ("one\ntwo\r\nthree\tfour", "one two three four"),
        ("bell\x07 back\x08space\x00", "bell backspace"),
        ("abc\u202edcba\u202c", "abcdcba"),
        ("line\u2028separator", "line separator"),
        ("a\x1b", "a"),
    ],
)
def test_nothing_that_steers_a_terminal_is_left(text: str, harmless: str) -> None:
    assert clean(text) == harmless


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("resumed", "show", "rounding"), "resumed show rounding"),
        (("resumed", "show", "fix payment"), 'resumed show "fix payment"'),
        (("show", "it's"), 'show "it\'s"'),
        (("show", "a $HOME `x`"), "show 'a $HOME `x`'"),
        (("show", "wow!"), "show 'wow!'"),
        (("show", ""), "show ''"),
        (("show", "日本"), 'show "日本"'),
    ],
)
def test_a_command_is_quoted_only_where_it_must_be(words: tuple[str, ...], command: str) -> None:
    assert typed(*words) == command


def test_the_home_folder_stays_a_tilde_that_the_shell_expands() -> None:
    assert typed_folder("/home/kim/my shop", "/home/kim") == '~/"my shop"'
    assert typed_folder("/home/kim", "/home/kim") == "~"
    assert typed_folder("/home/kimberley/x", "/home/kim") == "/home/kimberley/x"


def test_a_reader_sees_times_and_paths_from_their_own_place() -> None:
    reader = Reader(NOW, "/home/kim")
    assert reader.when("2026-03-04T09:58:00Z") == "2 min ago"
    assert reader.path("/home/kim/shop") == "~/shop"
    linked = Reader(NOW, "/home/kim", real_home="/mnt/kim")
    assert [linked.path(f"{home}/shop") for home in ("/home/kim", "/mnt/kim")] == ["~/shop", "~/shop"]


@pytest.mark.parametrize("odd", ["a\nb", "a\tb", "a\x1b[31mb", "it's\n\\", "caf\udce9"])
def test_an_odd_name_is_shown_in_a_form_that_means_the_same(odd: str) -> None:
    shown = typed("printf", "%s", odd)
    assert clean(shown) == shown
    printed = subprocess.run(["bash", "-c", shown], capture_output=True, check=True).stdout
    assert printed == os.fsencode(odd)
