"""Texts as they should be, in files; `--update` writes them anew."""

from pathlib import Path


def check_golden(path: Path, text: str, update: bool) -> None:
    """Compare a text with the file, or write it there. A missing file fails unless updating."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path.name} is missing; --update writes it"
    assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; --update writes it anew"
