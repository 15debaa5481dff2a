"""The method table is complete and consistent."""

import re

import pytest

from resumed.protocol.methods import BY_NAME, METHODS, REQUESTS, Direction, Method

NAMES = [method.name for method in METHODS]


def test_names_are_distinct() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert set(BY_NAME) == set(NAMES)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_row_is_well_formed(method: Method) -> None:
    assert re.fullmatch(r"[a-zA-Z]+(/[a-zA-Z]+)*", method.name)
    assert method.purpose.endswith(".")
    assert (method.result is None) == (method.direction is Direction.NOTIFICATION)
    assert method.params.__doc__
    if method.serialized_on is not None:
        assert method.serialized_on in method.params.__struct_fields__


def test_params_and_results_are_named_by_role() -> None:
    for method in METHODS:
        if method.direction is Direction.REQUEST:
            assert method.params.__name__.endswith("Params")


def test_requests_are_what_a_client_sends() -> None:
    assert set(REQUESTS) == {m.name for m in METHODS if m.direction is Direction.REQUEST}
    assert "restore/ask" not in REQUESTS
    assert REQUESTS["thread/resume"].result is not None
