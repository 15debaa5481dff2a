from typing import Any

from resumed.daemon.cli.listing import list_lines
from resumed.protocol.threads import ThreadListResult, ThreadSummary
from tests.support.reports import READER, printed

ROOT = "/home/kim/repo-a"


def thread(name: str, **more: Any) -> ThreadSummary:
    fields: dict[str, Any] = {
        "thread_id": f"id of {name}",
        "agent": "codex",
        "group": "project",
        "state": "idle",
        "root": ROOT,
        "branch": "main",
        "last_active_at": "2026-11-30T18:04:00Z",
        "created_at": "2026-11-30T17:00:00Z",
        "runs": 1,
    }
    return ThreadSummary(name=name, **{**fields, **more})


def listed(*threads: ThreadSummary, width: int = 80, **more: Any) -> str:
    return printed(list_lines(ThreadListResult(threads=threads, **more), ROOT, READER, width), width)


def test_conversations_stand_in_their_groups_the_interrupted_first() -> None:
    text = listed(
        thread("Tidy up"),
        thread("Fix payment rounding", state="interrupted", branch="fix/payment"),
        thread("Export", group="worktree", root="/home/kim/repo-a-wt", branch="wt/export"),
        thread("Going on now", state="running", last_active_at="2026-12-01T09:59:40Z"),
        thread("Other", group="elsewhere", root="/srv/other", branch=None),
    )
    assert text == (
        "This project\n"
        "    Going on now           running, 20 s ago              main          Codex\n"
        "  ! Fix payment rounding   interrupted, yesterday 18:04   fix/payment   Codex\n"
        "    Tidy up                yesterday 18:04                main          Codex\n"
        "Its worktrees\n"
        "  ~/repo-a-wt\n"
        "    Export                 yesterday 18:04                wt/export     Codex\n"
        "Elsewhere\n"
        "  /srv/other\n"
        "    Other                  yesterday 18:04                              Codex\n"
    )


def test_a_restore_that_was_cut_off_is_named() -> None:
    assert listed(thread("Fix payment rounding", state="unfinished")) == (
        "This project\n  ! Fix payment rounding   restore cut off, yesterday 18:04   main   Codex\n"
    )


def test_long_names_are_cut_to_the_width() -> None:
    text = listed(thread("a very long name " * 8), thread("日本語の長い名前" * 8))
    for line in text.splitlines()[1:]:
        assert "…   yesterday 18:04   main   Codex" in line
    assert max(len(line) for line in text.splitlines()) == 80


def test_a_folder_of_the_project_that_is_gone_is_named() -> None:
    text = listed(thread("Here"), thread("There", root="/home/kim/repo-a-old"))
    assert text.splitlines()[2] == "  ~/repo-a-old"


def test_names_cannot_break_the_table() -> None:
    text = listed(thread("one\ntwo\x1b[2J three"))
    assert "one two three" in text
    assert len(text.splitlines()) == 2


def test_damage_more_pages_and_notes_are_said() -> None:
    text = listed(thread("Fix", damaged=True), next_cursor="more", notes=("The index is being made again.",))
    assert "yesterday 18:04, damaged" in text
    assert "- There are more: --limit shows up to 200.\n" in text
    assert text.endswith("! The index is being made again.\n")


def test_an_empty_list_says_where_else_to_look() -> None:
    assert listed() == "- No conversations here. resumed threads --all looks elsewhere too.\n"
