"""The committed schema and protocol README are the generated ones."""

from resumed.protocol.schema import FOLDER, generated


def test_generated_files_are_up_to_date() -> None:
    for name, text in generated().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, (
            f"protocol/{name} is stale: run `make schema`"
        )


def test_generating_is_deterministic() -> None:
    assert generated() == generated()
