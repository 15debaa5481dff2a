import msgspec
import pytest

from resumed.protocol.restore import Answer, Difference, DriftKind, Severity
from resumed.restore.drift import (
    JUST_READ,
    LAST,
    READ_ONLY,
    RULES,
    STOP,
    Wording,
    asked,
    drift_id,
    informed,
    questions,
)

BLOCK, ASK, INFORM = Severity.BLOCK, Severity.ASK, Severity.INFORM

# kind, owner, severity, choices without "Just read", suggested, unattended
TABLE = [
    ("otherProject", "worktree", BLOCK, ("open",), "open", "stop"),
    ("gone", "worktree", BLOCK, ("relink",), "readOnly", "stop"),
    ("moved", "worktree", BLOCK, ("relink",), "relink", "stop"),
    ("worktreeRemoved", "worktree", BLOCK, ("recreate", "newWorktree", "relink"), "recreate", "stop"),
    ("stub", "worktree", BLOCK, ("relink",), "readOnly", "stop"),
    ("otherRepository", "worktree", BLOCK, ("relink",), "readOnly", "stop"),
    ("branchDiffers", "worktree", ASK, ("newWorktree", "switch", "relink", "stay"), "newWorktree", "stop"),
    ("branchDeleted", "worktree", ASK, ("newWorktree", "stay"), "newWorktree", "stop"),
    ("detached", "worktree", ASK, ("switch", "newWorktree", "relink", "stay"), "switch", "stop"),
    ("advanced", "worktree", ASK, ("stay", "newWorktree"), "stay", "stop"),
    ("rewritten", "worktree", ASK, ("stay", "newWorktree"), "stay", "stop"),
    ("commitGone", "worktree", ASK, ("stay",), "stay", "stop"),
    ("inProgress", "worktree", BLOCK, ("cancel", "continueAnyway"), "cancel", "stop"),
    ("silentSwitch", "worktree", ASK, ("open", "last"), "open", "stop"),
    ("fileChanged", "operations", ASK, ("keep",), "keep", "keep"),
    ("fileReverted", "operations", ASK, ("keep",), "keep", "keep"),
    ("fileGone", "operations", ASK, ("keep",), "keep", "keep"),
    ("policyLooser", "permissions", ASK, ("keep", "adopt"), "keep", "keep"),
    ("policyStricter", "permissions", INFORM, (), None, "stop"),
    ("fullAccess", "permissions", ASK, ("workspaceWrite", "fullAccess"), "workspaceWrite", "workspaceWrite"),
    ("neverAsk", "permissions", ASK, ("onRequest", "never"), "onRequest", "onRequest"),
    ("planMode", "permissions", ASK, ("plan", "normal"), "plan", "plan"),
    ("activeGoal", "permissions", ASK, ("pause", "continue"), "pause", "pause"),
    (
        "danglingOperation",
        "operations",
        ASK,
        ("agentChecks", "finished", "notRun"),
        "agentChecks",
        "agentChecks",
    ),
]
QUESTIONS = [kind for kind in DriftKind if RULES[kind].severity is not Severity.INFORM]
WIDENS_OR_WRITES = {"open", "relink", "recreate", "newWorktree", "switch", "stay", "continueAnyway", LAST}
WIDENS_OR_WRITES |= {"adopt", "fullAccess", "never", "normal", "continue", "finished", "notRun"}


def worded(kind: DriftKind, **changes: dict[str, str]) -> Wording:
    labels = {choice: f"do {choice}" for choice in RULES[kind].choices}
    plain = Wording(title="Title.", reason="Reason.", labels=labels)
    return msgspec.structs.replace(plain, **changes)


def test_the_table_is_this_one() -> None:
    assert [
        (kind.value, rule.subsystem, rule.severity, rule.choices, rule.suggested, rule.unattended)
        for kind, rule in RULES.items()
    ] == TABLE


def test_every_kind_has_its_row() -> None:
    assert set(RULES) == set(DriftKind)


def test_no_unattended_answer_writes_or_loosens() -> None:
    assert not {rule.unattended for rule in RULES.values()} & WIDENS_OR_WRITES
    for rule in RULES.values():
        assert rule.unattended in (STOP, *rule.choices)


def test_a_place_that_differs_stops_when_nobody_can_be_asked() -> None:
    assert {rule.unattended for rule in RULES.values() if rule.subsystem == "worktree"} == {STOP}


def test_a_block_has_no_unattended_answer() -> None:
    assert {rule.unattended for rule in RULES.values() if rule.severity is BLOCK} == {STOP}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_question_offers_just_reading(kind: DriftKind) -> None:
    drift = asked(kind, worded(kind))
    assert drift.choices[-1] == JUST_READ
    assert [choice.id for choice in drift.choices] == [*RULES[kind].choices, READ_ONLY]


def test_what_widens_most_must_be_typed() -> None:
    typed = {
        (kind.value, choice.id): choice.typed
        for kind in QUESTIONS
        for choice in asked(kind, worded(kind)).choices
        if choice.typed
    }
    assert typed == {("fullAccess", "fullAccess"): "full", ("neverAsk", "never"): "skip"}


def test_a_word_of_the_moment_goes_before_that_of_the_table() -> None:
    wording = worded(DriftKind.IN_PROGRESS, typed={"continueAnyway": "rebase"})
    assert [choice.typed for choice in asked(DriftKind.IN_PROGRESS, wording).choices] == [
        None,
        "rebase",
        None,
    ]


def test_a_choice_without_a_label_is_not_offered() -> None:
    wording = Wording(title="", reason="", labels={"stay": "Stay"})
    drift = asked(DriftKind.BRANCH_DIFFERS, wording)
    assert [choice.id for choice in drift.choices] == ["stay", READ_ONLY]
    assert drift.suggested == "stay"


def test_what_is_not_possible_is_shown_and_never_suggested() -> None:
    wording = worded(DriftKind.BRANCH_DIFFERS, not_possible={"newWorktree": "no name is free"})
    drift = asked(DriftKind.BRANCH_DIFFERS, wording)
    assert drift.choices[0].not_possible == "no name is free"
    assert drift.suggested == "switch"


def test_reading_is_suggested_where_nothing_else_is_possible() -> None:
    wording = worded(DriftKind.MOVED, not_possible={"relink": "it is locked"})
    assert asked(DriftKind.MOVED, wording).suggested == READ_ONLY


def test_where_only_reading_is_suggested_another_choice_never_is() -> None:
    assert asked(DriftKind.GONE, worded(DriftKind.GONE)).suggested == READ_ONLY


def test_a_drift_of_a_file_is_named_by_its_path() -> None:
    assert drift_id(DriftKind.FILE_GONE, "a/b.py") == "operations.fileGone:a/b.py"
    assert drift_id(DriftKind.GONE) == "worktree.gone"
    drift = asked(DriftKind.FILE_GONE, worded(DriftKind.FILE_GONE), path="a", facts={"now": "gone"})
    assert (drift.id, drift.path, drift.facts) == ("operations.fileGone:a", "a", {"now": "gone"})


def test_what_is_only_listed_has_no_choices_and_is_no_question() -> None:
    differences = (Difference(what="asks", recorded="a", now="b"),)
    listed = informed(DriftKind.ADVANCED, worded(DriftKind.ADVANCED), differences=differences)
    assert (listed.severity, listed.choices, listed.suggested) == (Severity.INFORM, (), None)
    assert listed.differences == differences
    question = asked(DriftKind.ADVANCED, worded(DriftKind.ADVANCED))
    assert questions((listed, question), {}) == (question,)


def test_who_goes_on_in_the_last_folder_is_not_asked_about_the_recorded_one() -> None:
    switched = asked(DriftKind.SILENT_SWITCH, worded(DriftKind.SILENT_SWITCH))
    removed = asked(DriftKind.WORKTREE_REMOVED, worded(DriftKind.WORKTREE_REMOVED))
    never = asked(DriftKind.NEVER_ASK, worded(DriftKind.NEVER_ASK))
    drifts = (switched, removed, never)
    assert questions(drifts, {}) == drifts
    assert questions(drifts, {switched.id: Answer(choice="open")}) == drifts
    assert questions(drifts, {switched.id: Answer(choice=LAST)}) == (switched, never)
