"""The committed schemas and their READMEs are the generated ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from resumed.daemon import event_reference
from resumed.protocol import schema

GENERATED = pytest.mark.parametrize(
    ("folder", "generated"),
    [(schema.FOLDER, schema.generated), (event_reference.FOLDER, event_reference.generated)],
    ids=["protocol", "events"],
)


@GENERATED
def test_generated_files_are_up_to_date(folder: Path, generated: Callable[[], dict[str, str]]) -> None:
    for name, text in generated().items():
        assert (folder / name).read_text(encoding="utf-8") == text, (
            f"{folder.name}/{name} is stale: run `make schema`"
        )


@GENERATED
def test_generating_is_deterministic(folder: Path, generated: Callable[[], dict[str, str]]) -> None:
    assert generated() == generated()
