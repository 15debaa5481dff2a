"""The upgrade chain: one step per version, in order, for the type it names."""

from resumed.daemon.storage.upgrade import STEPS, lift
from resumed.restore.events import EVENT_TYPES, SCHEMA_VERSION


def test_steps_run_in_order_and_only_for_their_type() -> None:
    steps = {
        ("note", SCHEMA_VERSION - 2): lambda fields: {**fields, "trace": ["first"]},
        ("note", SCHEMA_VERSION - 1): lambda fields: {**fields, "trace": [*fields["trace"], "second"]},
    }
    assert lift("note", {"a": 1}, SCHEMA_VERSION - 2, steps) == {"a": 1, "trace": ["first", "second"]}
    assert lift("segment", {"a": 1}, SCHEMA_VERSION - 2, steps) == {"a": 1}
    assert lift("note", {"trace": []}, SCHEMA_VERSION - 1, steps) == {"trace": ["second"]}
    assert lift("note", {"a": 1}, SCHEMA_VERSION, steps) == {"a": 1}


def test_the_real_table_lifts_known_types_from_known_versions() -> None:
    for type_name, version in STEPS:
        assert type_name in EVENT_TYPES
        assert 0 < version < SCHEMA_VERSION
