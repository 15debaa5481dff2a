from pathlib import Path

import msgspec

from resumed.daemon.cli.questions import (
    asked_differences,
    check_lines,
    difference_lines,
    key_of,
    keyed_lines,
    question_lines,
    why_lines,
)
from resumed.protocol.restore import Difference, Severity
from resumed.protocol.resume import DriftCheckResult
from tests.support.goldens import check_golden
from tests.support.reports import (
    NEVER_ASKED,
    OF_ANOTHER_PROJECT,
    ON_ANOTHER_BRANCH,
    changed_file,
    printed,
    question,
)

GOLDEN = Path(__file__).parent / "golden"


def test_a_question_about_the_place() -> None:
    assert printed(question_lines(ON_ANOTHER_BRANCH, "1 of 2")) == (
        "1 of 2  You are on a different branch\n"
        "        then fix/payment (4f8c2d1)   now main (b71e09a)\n"
        "        It was on fix/payment; this folder is on main. Its 2 edited files differ\n"
        "        here.\n"
        "  1  Continue on fix/payment in a new folder   (suggested; ~/repo-a stays on\n"
        "                                               main)\n"
        "  -  Switch this folder back                   (not yet: README.md is\n"
        "                                               uncommitted)\n"
        "  3  Stay on main and tell the agent           (its test result no longer\n"
        "                                               counts)\n"
        "  4  Just read                                 (Nothing is started or changed)\n"
    )


def test_a_question_with_a_word_to_type() -> None:
    assert printed(question_lines(NEVER_ASKED, "2 of 2")) == (
        "2 of 2  Last time it ran without asking you\n"
        "        We never turn that back on by ourselves.\n"
        "  1  Start with questions on            (suggested)\n"
        "  2  Without questions, this run only   (type “skip”)\n"
        "  3  Just read                          (Nothing is started or changed)\n"
    )


def test_why_says_what_each_choice_does_and_what_happens_with_nobody_to_ask() -> None:
    branch, never = printed(why_lines(ON_ANOTHER_BRANCH), 200), printed(why_lines(NEVER_ASKED), 200)
    assert "Switch this folder back: README.md is uncommitted\n" in branch
    assert branch.endswith("With nobody to ask: it is left as it is.\n")
    assert never.endswith("With nobody to ask: “Start with questions on”.\n")


def test_differences_are_a_table() -> None:
    assert printed(difference_lines(OF_ANOTHER_PROJECT.differences)) == (
        "              when it stopped            here, now\n"
        "  folder      ~/repo-a                   ~/repo-b\n"
        "  repository  github.com/acme/payments   github.com/acme/storefront\n"
        "  branch      fix/payment (4f8c2d1)      main (77d0c3e)\n"
    )


def test_wide_differences_stand_below_each_other() -> None:
    wide = Difference(what="folder", recorded="~/" + "a" * 50, now="~/" + "b" * 50)
    assert printed(difference_lines([wide])) == (
        f"  folder\n    then  {wide.recorded}\n    now   {wide.now}\n"
    )


def test_what_is_open_is_no_difference() -> None:
    assert difference_lines(NEVER_ASKED.differences) == []
    assert (
        asked_differences(question(ON_ANOTHER_BRANCH, changed_file("a.py"))) == ON_ANOTHER_BRANCH.differences
    )


def test_a_choice_is_named_as_it_is_given_in_advance() -> None:
    assert printed(keyed_lines(question(NEVER_ASKED))) == (
        "\n"
        "  permissions.neverAsk  Last time it ran without asking you.\n"
        "    We never turn that back on by ourselves.\n"
        "    onRequest   Start with questions on            (suggested)\n"
        "    never:skip  Without questions, this run only   (with the word “skip”)\n"
        "    readOnly    Just read                          (Nothing is started or\n"
        "                                                   changed)\n"
    )


def test_a_choice_that_is_not_possible_is_named_without_its_word() -> None:
    choices = [msgspec.structs.replace(choice, not_possible="later") for choice in NEVER_ASKED.choices]
    drift = msgspec.structs.replace(NEVER_ASKED, choices=tuple(choices))
    assert "    - never      Without questions" in printed(keyed_lines(question(drift)))


def test_a_command_that_makes_a_choice_possible_stands_alone_and_is_never_broken() -> None:
    unlock = ("git", "worktree", "unlock", f"/srv/{'deep/' * 20}a place")
    choices = [
        msgspec.structs.replace(choice, not_possible="it is locked", command=unlock)
        if choice.id == "never"
        else choice
        for choice in NEVER_ASKED.choices
    ]
    drift = msgspec.structs.replace(NEVER_ASKED, choices=tuple(choices))
    line = f'git worktree unlock "/srv/{"deep/" * 20}a place"'
    for lines in (keyed_lines(question(drift)), question_lines(drift, "1 of 1"), why_lines(drift)):
        assert [shown.strip() for shown in printed(lines).splitlines()].count(line) == 1


def test_the_key_has_a_path_only_where_it_needs_one() -> None:
    first, second = changed_file("a.py"), changed_file("b.py")
    assert key_of(first, (first, NEVER_ASKED)) == "operations.fileChanged"
    assert key_of(first, (first, second)) == "operations.fileChanged:a.py"


def check_result(asks: bool) -> DriftCheckResult:
    listed = changed_file("note.txt", Severity.INFORM)
    return DriftCheckResult(
        thread_id="t",
        thread_name="Fix payment rounding",
        drifts=(ON_ANOTHER_BRANCH, NEVER_ASKED, listed) if asks else (listed,),
        question=question(ON_ANOTHER_BRANCH) if asks else None,
        not_known=("the state of the remote",),
    )


def test_a_check_that_would_ask(update_goldens: bool) -> None:
    text = printed(check_lines(check_result(asks=True), "fix payment"))
    check_golden(GOLDEN / "check_asks.txt", text, update_goldens)


def test_a_check_before_an_earlier_restore_is_taken_back() -> None:
    first = "A restore that was cut off has to be taken back first: Make ~/repo-a.wt on fix/payment."
    found = DriftCheckResult(thread_id="t", thread_name="Fix", drifts=(), question=None, unfinished=first)
    assert printed(check_lines(found, "fix payment")) == (
        "! A restore that was cut off has to be taken back first: Make ~/repo-a.wt on\n"
        "  fix/payment.\n"
        "  Nothing was changed. What differs then is told after that.\n"
        '  Go on: resumed resume "fix payment"\n'
    )


def test_a_check_that_would_not() -> None:
    assert printed(check_lines(check_result(asks=False), "fix payment")) == (
        "✓ Nothing to ask before “Fix payment rounding” goes on.\n"
        "  - note.txt was changed after Codex.\n"
        "    It will be kept exactly as it is, and the agent is told.\n"
        "  - Not known: the state of the remote\n"
        '  Go on: resumed resume "fix payment"\n'
    )
