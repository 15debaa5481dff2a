"""The narrowest of a managed policy and our own settings."""

import os
from pathlib import Path

import pytest

from resumed.daemon.ports.policy import Policy
from resumed.restore.probes import CeilingSeen, Unseen


async def ceiling(
    folder: Path, settings: str | None, requirements: str | None, agent: str = "codex"
) -> CeilingSeen | Unseen:
    """The ceiling with these two files; `None` leaves a file out."""
    for name, content in (("settings.toml", settings), ("requirements.toml", requirements)):
        if content is not None:
            (folder / name).write_text(content)
    return await Policy(str(folder / "settings.toml"), str(folder / "requirements.toml")).ceiling(agent)


async def test_no_files_no_limit(tmp_path: Path) -> None:
    assert await ceiling(tmp_path, None, None) == CeilingSeen()
    assert await ceiling(tmp_path, None, "other = 1\n") == CeilingSeen()


@pytest.mark.parametrize(
    "settings", ["[Permissions]\n", "[permission]\nsandbox = 'read-only'\n", "sandbox = 'read-only'\n"]
)
async def test_a_misspelt_limit_of_ours_is_not_no_limit(tmp_path: Path, settings: str) -> None:
    seen = await ceiling(tmp_path, settings, None)
    assert isinstance(seen, Unseen)
    assert "there is no setting" in seen.reason


async def test_what_is_no_regular_file_is_not_no_limit_and_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.toml")
    assert isinstance(await Policy(str(tmp_path / "settings.toml"), "/none").ceiling("codex"), Unseen)
    (tmp_path / "link.toml").symlink_to(tmp_path / "nothing")
    assert isinstance(await Policy(str(tmp_path / "link.toml"), "/none").ceiling("codex"), Unseen)


async def test_own_settings(tmp_path: Path) -> None:
    text = '[permissions]\napproval = "on-request"\nsandbox = "workspace-write"\n'
    assert await ceiling(tmp_path, text, None, "other") == CeilingSeen(
        approval="on-request", sandbox="workspace-write", source=str(tmp_path / "settings.toml")
    )


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ('["untrusted"]', "untrusted"),
        ('["on-request", "untrusted"]', "on-request"),
        ('["on-failure", "untrusted"]', "on-failure"),
        ('["never", "on-failure"]', "never"),
        ('["granular", "on-request"]', "on-request"),
        ('["granular"]', "untrusted"),
        ("[]", "untrusted"),
    ],
)
async def test_codex_requirements(tmp_path: Path, allowed: str, expected: str) -> None:
    seen = await ceiling(tmp_path, None, f"allowed_approval_policies = {allowed}\n")
    assert seen == CeilingSeen(approval=expected, source=str(tmp_path / "requirements.toml"))


async def test_the_narrowest_of_both(tmp_path: Path) -> None:
    own = '[permissions]\napproval = "on-request"\nsandbox = "danger-full-access"\n'
    managed = 'allowed_approval_policies = ["never"]\nallowed_sandbox_modes = ["read-only"]\n'
    assert await ceiling(tmp_path, own, managed) == CeilingSeen(
        approval="on-request",
        sandbox="read-only",
        source=f"{tmp_path / 'settings.toml'}, {tmp_path / 'requirements.toml'}",
    )


async def test_a_managed_policy_of_codex_is_not_another_agents(tmp_path: Path) -> None:
    managed = 'allowed_sandbox_modes = ["read-only"]\n'
    assert await ceiling(tmp_path, None, managed, "claude") == CeilingSeen()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"[permissions]\n\napproval\n",
            "cannot be read: line 3 is not valid TOML: expected '=' after a key in a key/value pair",
        ),
        (b"x = 1\nx = 2\n", "cannot be read: line 2 is not valid TOML: cannot overwrite a value"),
        (b"[permissions]\napproval = [", "cannot be read: its end is not valid TOML: invalid value"),
        (b"[permissions]\n# \xff\n", "cannot be read: line 2 is not UTF-8 text"),
        (b"x = " + b"[" * 9999, "cannot be read: it is nested too deeply"),
        (b"x = " + b"9" * 9999, "cannot be read: it is not valid TOML"),
        (b"[permission]\n", "cannot be understood: there is no setting 'permission'"),
        (
            b"[permissions]\nsandbox = 'none'\n",
            "cannot be understood: permissions.sandbox is not one of"
            " read-only, workspace-write, danger-full-access",
        ),
    ],
)
async def test_it_is_said_which_file_is_wrong_and_on_which_line(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / "settings.toml").write_bytes(content)
    seen = await ceiling(tmp_path, None, None)
    assert seen == Unseen(f"failed: {tmp_path / 'settings.toml'} {words}")


async def test_a_managed_file_that_is_wrong_is_named_too(tmp_path: Path) -> None:
    seen = await ceiling(tmp_path, None, "a = 1\nb =\n")
    assert isinstance(seen, Unseen)
    assert seen.reason.startswith(f"failed: {tmp_path / 'requirements.toml'} cannot be read: line 2 ")


@pytest.mark.parametrize(
    ("settings", "requirements"),
    [
        ("[permissions\n", None),
        ('[permissions]\napproval = "on_request"\n', None),
        ("[permissions]\nsandbox = 1\n", None),
        ('[permissions]\naproval = "untrusted"\n', None),
        ("permissions = 1\n", None),
        (None, "allowed_sandbox_modes = 'read-only'\n"),
        (None, "allowed_approval_policies = [1]\n"),
        (None, "= 1\n"),
    ],
)
async def test_what_cannot_be_understood_is_not_known(
    tmp_path: Path, settings: str | None, requirements: str | None
) -> None:
    seen = await ceiling(tmp_path, settings, requirements)
    assert isinstance(seen, Unseen)
    assert seen.reason.startswith(f"failed: {tmp_path}")


async def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").mkdir()
    assert isinstance(await ceiling(tmp_path, None, None), Unseen)
    (tmp_path / "settings.toml").rmdir()
    (tmp_path / "settings.toml").write_bytes(b"\xff\xfe")
    assert isinstance(await ceiling(tmp_path, None, None), Unseen)
