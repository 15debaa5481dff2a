import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resumed.restore.order import DependencyCycle, UnknownDependency, in_restore_order
from resumed.restore.subsystems.untracked import Untracked, untracked

NAMES = ("a", "b", "c", "d", "e", "f")


def order(after: dict[str, tuple[str, ...]]) -> list[str]:
    return [each.name for each in in_restore_order([untracked(*row) for row in after.items()])]


@st.composite
def without_cycles(draw: st.DrawFn) -> list[Untracked]:
    """Each may wait for any of those before it; then shuffled."""
    rows = [
        untracked(name, tuple(draw(st.sets(st.sampled_from(NAMES[:n])))) if n else ())
        for n, name in enumerate(NAMES)
    ]
    return draw(st.permutations(rows))


@given(without_cycles())
def test_each_comes_after_all_that_it_waits_for(rows: list[Untracked]) -> None:
    names = [each.name for each in in_restore_order(rows)]
    assert sorted(names) == list(NAMES)
    for each in rows:
        assert all(names.index(before) < names.index(each.name) for before in each.after)


@given(without_cycles())
def test_the_position_in_the_registry_means_nothing(rows: list[Untracked]) -> None:
    assert in_restore_order(rows) == in_restore_order(sorted(rows, key=lambda each: each.name))


def test_equals_are_ordered_by_name() -> None:
    for names in itertools.permutations(("todos", "cost", "model")):
        assert order(dict.fromkeys(names, ())) == ["cost", "model", "todos"]


def test_nothing_to_order_is_no_error() -> None:
    assert in_restore_order([]) == ()


def test_a_cycle_prints_its_path() -> None:
    after = {"a": ("b",), "b": ("c",), "c": ("a",), "d": ()}
    with pytest.raises(DependencyCycle) as caught:
        order(after)
    path = caught.value.args[0].split(" -> ")
    assert path[0] == path[-1]
    assert set(path) == {"a", "b", "c"}
    assert all(waited_for in after[name] for name, waited_for in itertools.pairwise(path))


def test_waiting_for_oneself_is_a_cycle() -> None:
    with pytest.raises(DependencyCycle, match="a -> a"):
        order({"a": ("a",)})


def test_waiting_for_one_that_is_not_there_names_both() -> None:
    with pytest.raises(UnknownDependency, match="todos is after conversation, which is not registered"):
        order({"todos": ("conversation",)})
