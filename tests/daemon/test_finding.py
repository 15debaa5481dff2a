import pytest

from resumed.daemon.finding import one_of
from resumed.daemon.storage.rows import ThreadRow
from resumed.daemon.surroundings import Folders
from resumed.protocol.errors import ErrorCode, ResumedError

HERE = Folders(project=("/here",), worktrees=("/linked",))


def row(thread_id: str, name: str, root: str = "/here") -> ThreadRow:
    return ThreadRow(
        thread_id=thread_id, name=name, agent="mine", root=root, state="idle", created_at="",
        last_active_at="", source="own",
    )  # fmt: skip


def test_the_exact_name_comes_before_the_place_and_the_place_before_the_rest() -> None:
    exact, longer, elsewhere = row("a", "Fix"), row("b", "Fix it"), row("c", "Fix more", "/else")
    assert one_of([exact, longer, elsewhere], " fix ", HERE, False) is exact
    assert one_of([longer, elsewhere], "fix", HERE, False) is longer
    assert one_of([elsewhere], "fix", HERE, False) is elsewhere
    assert one_of([row("d", "Fix", "/else"), exact], "fix", HERE, False) is exact


@pytest.mark.parametrize("reading", [False, True])
def test_none_and_several_are_refused(reading: bool) -> None:
    with pytest.raises(ResumedError) as several:
        one_of([row("a", "Fix"), row("b", "Fix", "/linked/x")], "fix", HERE, reading)
    assert several.value.code is ErrorCode.THREAD_AMBIGUOUS
    assert several.value.data.candidates == ("a Fix", "b Fix")
    with pytest.raises(ResumedError) as none:
        one_of([], "fix", HERE, reading)
    assert none.value.code is ErrorCode.THREAD_NOT_FOUND
    assert ("among those read so far" in none.value.sentence) == reading
