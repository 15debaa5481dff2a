"""What an editor may show of a thread, from a real record."""

import os
from pathlib import Path

from resumed.daemon.views import state_word, thread_view
from tests.support.codex import install_recording
from tests.support.parts import opened


async def test_a_thread_killed_in_the_middle_is_interrupted(tmp_path: Path) -> None:
    path = install_recording("v171_sigkill_midturn", Path(os.environ["CODEX_HOME"]))
    async with opened(tmp_path) as workspace:
        thread_id = (await workspace.threads.find("kill me")).thread_id
        built = await workspace.threads.built(thread_id)
    view = thread_view(built, running=False)
    assert (view.state, state_word(built.record)) == ("interrupted", "interrupted")
    assert [operation.title for operation in view.operations.dangling] == ["`sleep 40; echo slept`"]
    assert view.depends_on == str(path)
    assert [(file.path, file.change) for file in view.files] == [
        ("README.md", "update"),
        ("note_25.txt", "add"),
    ]
    assert view.not_resumable is None
    assert thread_view(built, running=True).state == "running"
