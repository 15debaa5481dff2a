import msgspec
import pytest

from resumed.daemon.cli.answers import answer_for, answers_for, parse, unused
from resumed.daemon.cli.failures import Exit, Failure
from resumed.protocol.restore import Answer, Severity
from tests.support.reports import NEVER_ASKED, ON_ANOTHER_BRANCH, changed_file, question, ready


def test_keys_paths_choices_and_typed_words_are_read() -> None:
    assert parse(
        (
            "worktree.branchDiffers=stay",
            "operations.fileChanged:src/a=b:c.py=keep",
            "worktree.inProgress=continueAnyway:rebase",
        )
    ) == {
        "worktree.branchDiffers": Answer(choice="stay"),
        "operations.fileChanged:src/a=b:c.py": Answer(choice="keep"),
        "worktree.inProgress": Answer(choice="continueAnyway", typed="rebase"),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("stay", "“stay” is no answer."),
        ("worktree.branchDiffers", "“worktree.branchDiffers” is no answer."),
        ("worktree.branchDiffers=", "“worktree.branchDiffers=” is no answer."),
        ("worktree.bananas=stay", "“worktree.bananas” is no question."),
        ("permissions.branchDiffers=stay", "“permissions.branchDiffers” is no question."),
        ("worktree.branchDiffers=keep", "“keep” is no choice of worktree.branchDiffers."),
        ("permissions.policyStricter=readOnly", "“readOnly” is no choice of permissions.policyStricter."),
    ],
)
def test_what_no_question_has_is_refused_as_wrong_usage(text: str, sentence: str) -> None:
    with pytest.raises(Failure) as refused:
        parse((text,))
    assert refused.value.sentence == sentence
    assert refused.value.exit_code is Exit.USAGE


def test_a_key_is_answered_once() -> None:
    with pytest.raises(Failure, match="answered twice"):
        parse(("worktree.gone=relink", "worktree.gone=readOnly"))


def test_just_read_is_an_answer_to_everything() -> None:
    assert parse(("worktree.gone=readOnly",)) == {"worktree.gone": Answer(choice="readOnly")}


def test_a_key_without_a_path_is_for_all_of_its_kind_and_one_with_a_path_goes_first() -> None:
    given = parse(("operations.fileChanged=keep", "operations.fileChanged:b.py=readOnly"))
    assert answer_for(changed_file("a.py"), given) == Answer(choice="keep")
    assert answer_for(changed_file("b.py"), given) == Answer(choice="readOnly")
    assert answer_for(NEVER_ASKED, given) is None


def test_a_round_gets_the_answers_that_are_its_own() -> None:
    given = parse(("worktree.branchDiffers=stay", "worktree.gone=relink"))
    asked = question(ON_ANOTHER_BRANCH, NEVER_ASKED)
    assert answers_for(asked, given) == {ON_ANOTHER_BRANCH.id: Answer(choice="stay")}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("worktree.branchDiffers=switch", "not possible yet: README.md is uncommitted"),
        ("permissions.neverAsk=never", "needs the word “skip”"),
        ("permissions.neverAsk=never:please", "needs the word “skip”"),
    ],
)
def test_an_answer_that_cannot_be_taken_now_is_wrong_usage(text: str, why: str) -> None:
    with pytest.raises(Failure, match=why) as refused:
        answers_for(question(ON_ANOTHER_BRANCH, NEVER_ASKED), parse((text,)))
    assert refused.value.exit_code is Exit.USAGE


@pytest.mark.parametrize("text", ["permissions.neverAsk=never", "permissions.neverAsk=never:please"])
def test_how_a_word_is_given_in_advance_is_said_where_it_is_missing(text: str) -> None:
    with pytest.raises(Failure) as refused:
        answers_for(question(ON_ANOTHER_BRANCH, NEVER_ASKED), parse((text,)))
    assert refused.value.hint == (
        "Nothing was restored or started.\n"
        "With the word in advance it is: --answer permissions.neverAsk=never:skip"
    )


def test_no_word_is_asked_for_where_none_is_missing() -> None:
    with pytest.raises(Failure) as refused:
        answers_for(
            question(ON_ANOTHER_BRANCH, NEVER_ASKED),
            parse(("worktree.branchDiffers=switch", "permissions.neverAsk=never:skip")),
        )
    assert refused.value.hint == "Nothing was restored or started."


def test_the_form_of_an_answer_is_shown_with_and_without_a_word() -> None:
    with pytest.raises(Failure) as refused:
        parse(("stay",))
    assert refused.value.hint == (
        "It looks like worktree.branchDiffers=stay, or permissions.neverAsk=never:skip with a word to type."
    )


@pytest.mark.parametrize(
    ("round_number", "named"),
    [
        (None, ["worktree.gone", "operations.fileChanged:x", "permissions.neverAsk"]),
        (2, ["worktree.gone", "operations.fileChanged:x", "permissions.neverAsk"]),
        (1, ["worktree.gone"]),
    ],
)
def test_answers_that_nothing_asked_for_are_named(round_number: int | None, named: list[str]) -> None:
    given = parse(
        (
            "worktree.branchDiffers=stay", "worktree.gone=relink", "operations.fileChanged:x=keep",
            "permissions.neverAsk=onRequest",
        )
    )  # fmt: skip
    listed = msgspec.structs.replace(NEVER_ASKED, severity=Severity.INFORM)
    drifts = (ON_ANOTHER_BRANCH, changed_file("y"), listed)
    asked = question(*drifts, round_number=round_number) if round_number else None
    report = msgspec.structs.replace(ready(), drifts=drifts, question=asked)
    assert unused(report, given) == tuple(named)
