import msgspec
import pytest

from resumed.restore.probes import (
    AnyObservation,
    AnyProbe,
    FolderProbe,
    FolderSeen,
    NoRepository,
    RepositoryProbe,
    RepositorySeen,
    Unseen,
)
from resumed.restore.steps import (
    AddWorktree,
    Condition,
    HeadAt,
    PathAbsent,
    RecordState,
    RemoveWorktree,
    Step,
    SwitchBranch,
    holds,
    probe_of,
)

AT = HeadAt(path="/w", branch="b", sha="s")
NOTHING = PathAbsent("/w")


def head(**changes: object) -> RepositorySeen:
    seen = RepositorySeen(
        top_level="/w",
        git_dir="/w/.git",
        common_dir="/w/.git",
        common_id="1:2",
        kind="main",
        branch="b",
        sha="s",
    )
    return msgspec.structs.replace(seen, **changes)


@pytest.mark.parametrize(("condition", "probe"), [(NOTHING, FolderProbe("/w")), (AT, RepositoryProbe("/w"))])
def test_each_condition_has_its_probe(condition: Condition, probe: AnyProbe) -> None:
    assert probe_of(condition) == probe


@pytest.mark.parametrize(
    ("condition", "seen", "expected"),
    [
        (NOTHING, FolderSeen("absent"), True),
        (NOTHING, FolderSeen("folder"), False),
        (NOTHING, FolderSeen("file"), False),
        (NOTHING, FolderSeen("unreadable"), False),
        (AT, head(), True),
        (AT, head(branch=None), False),
        (AT, head(branch="c"), False),
        (AT, head(sha="t"), False),
        (AT, head(top_level="/"), False),
        (AT, NoRepository(), False),
    ],
)
def test_whether_a_condition_holds(condition: Condition, seen: AnyObservation, expected: bool) -> None:
    assert holds(condition, {probe_of(condition): seen}) is expected


@pytest.mark.parametrize("condition", [NOTHING, AT])
def test_what_was_not_seen_never_holds(condition: Condition) -> None:
    assert holds(condition, {}) is None
    assert holds(condition, {probe_of(condition): Unseen("timeout")}) is not True


@pytest.mark.parametrize(
    "verb",
    [
        AddWorktree(restore_id="r", repository="/r", path="/w", sha="s", branch="b", create_branch=True),
        RemoveWorktree(restore_id="r", repository="/r", path="/w", sha="s"),
        SwitchBranch(restore_id="r", root="/r", from_branch=None, from_sha="s", to_branch="b", to_sha="t"),
        RecordState(events=(("model_set", {"model": "m"}),)),
    ],
)
def test_a_step_comes_back_from_the_journal_as_it_was(
    verb: AddWorktree | RemoveWorktree | SwitchBranch | RecordState,
) -> None:
    step = Step(subsystem="worktree", title="T", do=verb, undo=verb, expects=(NOTHING,), ensures=(AT,))
    stored = msgspec.json.decode(msgspec.json.encode(msgspec.to_builtins(step)))
    assert msgspec.convert(stored, Step) == step
