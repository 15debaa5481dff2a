import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from resumed.daemon.cli.main import main
from resumed.daemon.version import VERSION

COMMANDS = (
    *(
        "threads",
        "show",
        "check",
        "resume",
        "name",
        "archive",
        "unarchive",
        "purge",
        "export",
        "import",
        "diagnose",
        "doctor",
    ),
    *("status", "serve", "connect"),
)


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="resumed")


def test_the_version_is_the_program_s() -> None:
    assert invoke("--version").output == f"resumed, version {VERSION}\n"


def test_the_help_lists_the_commands() -> None:
    done = invoke("--help")
    assert done.exit_code == 0
    assert all(f"\n  {name} " in done.output for name in COMMANDS)
    assert set(main.commands) == set(COMMANDS)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "doctor"])
def test_every_command_about_a_workspace_takes_one(name: str) -> None:
    assert "--workspace DIR" in invoke(name, "--help").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bananas",), "✗ No such command 'bananas'."),
        (("--bananas",), "✗ No such option '--bananas'."),
        (("show",), "✗ Missing argument 'THREAD'."),
        (("show", "a", "b"), "✗ Got unexpected extra argument (b)"),
        (("threads", "--limit", "0"), "✗ Invalid value for '--limit'"),
        (("threads", "--limit", "201"), "✗ Invalid value for '--limit'"),
        (("threads", "--workspace", "/no/such/folder"), "✗ Invalid value for '--workspace'"),
        (("resume", "x", "--answer", "worktree.bananas=stay"), "✗ “worktree.bananas” is no question."),
        (("resume", "x", "--exec", "--json"), "✗ --exec hands this terminal to the agent"),
        (("connect",), "✗ Missing option '--stdio'."),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments: tuple[str, ...], sentence: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(sentence)
    assert "Traceback" not in done.stderr


def test_the_home_folder_is_no_workspace(hermetic_home: Path) -> None:
    done = invoke("threads", "--workspace", str(hermetic_home))
    assert done.exit_code == 1
    assert done.stderr == (
        f"✗ {hermetic_home} is too much for one workspace.\n  Open a project's folder instead.\n"
    )


def test_a_current_folder_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    done = invoke("threads")
    assert done.exit_code == 1
    assert done.stderr.startswith("✗ The current folder is not there any more.\n")
    os.chdir(tmp_path)


def test_a_state_folder_that_cannot_be_made_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RESUMED_HOME", str(tmp_path / "file" / "state"))
    workspace = tmp_path / "shop"
    workspace.mkdir()
    done = invoke("status", "--workspace", str(workspace))
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    assert said == (
        f"✗ The state folder {tmp_path / 'file' / 'state'} cannot be written: Not a directory."
        " Set RESUMED_HOME to a folder of yours that can be written."
    )
