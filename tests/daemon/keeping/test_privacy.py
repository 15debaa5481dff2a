"""Every byte that is kept is in the inventory, once."""

import os
from pathlib import Path

from resumed.daemon.keeping.privacy import inventory
from resumed.daemon.runtime import runtime_folder, state_folder
from tests.support.machines import KEPT, ended_run
from tests.support.parts import opened


async def test_all_files_and_bytes_are_counted_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as workspace:
        await ended_run(workspace, *KEPT)
    home = state_folder()
    (home / "settings.toml").write_text("[permissions]\n")
    (home / "something else").mkdir()
    (home / "something else" / "x").write_text("x")
    files = [path for path in home.rglob("*") if path.is_file()]
    found = inventory(home, runtime_folder())
    assert sum(kept.files for kept in found.kept) == len(files)
    assert sum(kept.bytes for kept in found.kept) == sum(path.stat().st_size for path in files)
    said = next(kept for kept in found.kept if "said and done" in kept.what)
    assert said.files == 2
    records = [path for path in files if path.suffix == ".jsonl" and path.parent.name != "worktrees"]
    assert said.bytes == sum(path.stat().st_size for path in records)
    assert found.leaves == ()


def test_looking_makes_nothing(tmp_path: Path) -> None:
    found = inventory(tmp_path / "state", tmp_path / "runtime")
    assert {(kept.files, kept.bytes) for kept in found.kept} == {(0, 0)}
    assert os.listdir(tmp_path) == []
