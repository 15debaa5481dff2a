"""The command that continues a session: explicit, never wider than recorded, never a bypass."""

import pytest

from resumed.daemon.agents.codex.launch import CodexLauncher
from resumed.protocol.restore import LaunchPlan
from resumed.restore.effects import LaunchFacts

ID = "01a22dbd-6721-7b02-8d3d-d77a010ed4f3"


def plan(
    approval: str | None = "on-request",
    sandbox: str | None = "workspace-write",
    model: str | None = "gpt-5.5",
    pause_goal: bool = False,
) -> LaunchPlan:
    facts = LaunchFacts(
        agent="codex",
        native_id=ID,
        folder="/home/dev/repo",
        approval=approval,
        sandbox=sandbox,
        model=model,
        pause_goal=pause_goal,
    )
    made = CodexLauncher().plan(facts)
    assert made is not None
    return made


def test_the_whole_command() -> None:
    assert plan() == LaunchPlan(
        argv=(
            *("codex", "resume", ID, "-C", "/home/dev/repo"),
            *("-s", "workspace-write", "-a", "on-request", "-m", "gpt-5.5"),
        ),
        folder="/home/dev/repo",
    )


def test_what_is_not_known_is_left_out() -> None:
    assert plan(None, None, None).argv == ("codex", "resume", ID, "-C", "/home/dev/repo")


@pytest.mark.parametrize(
    ("approval", "sandbox", "flags"),
    [
        ("never", "danger-full-access", ("-s", "danger-full-access", "-a", "never")),
        ("on-failure", "workspace-write", ("-s", "read-only", "-a", "on-request")),
        ("untrusted", "workspace-write", ("-s", "read-only", "-a", "on-request")),
        ("granular", None, ("-s", "read-only", "-a", "on-request")),
        ("never", "external-sandbox", ("-s", "read-only", "-a", "never")),
        ("--dangerously-bypass-approvals-and-sandbox", "x", ("-s", "read-only", "-a", "on-request")),
    ],
)
def test_a_word_that_codex_does_not_take_becomes_a_stricter_one(
    approval: str, sandbox: str | None, flags: tuple[str, ...]
) -> None:
    assert plan(approval, sandbox, None).argv[5:] == flags


def test_what_it_says_that_it_can_express_is_given_as_it_is() -> None:
    for approval in CodexLauncher.approvals:
        assert plan(approval, "workspace-write", None).argv[5:] == ("-s", "workspace-write", "-a", approval)
        assert plan(approval).notes == ()


def test_a_goal_is_paused_first() -> None:
    (step,) = plan(pause_goal=True).before
    assert step.argv == ("codex", "app-server")
    assert [request["method"] for request in step.requests] == [
        "initialize",
        "initialized",
        "thread/goal/set",
    ]
    assert step.requests[2]["params"] == {"threadId": ID, "status": "paused", "origin": "user"}


@pytest.mark.parametrize("model", ["--dangerously-bypass-approvals-and-sandbox", "-c", "", "a b", "m\n-s"])
def test_a_recorded_model_is_never_taken_for_a_flag(model: str) -> None:
    planned = CodexLauncher().plan(
        LaunchFacts(
            agent="codex", native_id="n", folder="/f", approval="on-request", sandbox="read-only",
            model=model, pause_goal=False,
        )
    )  # fmt: skip
    assert planned is not None
    assert planned.argv == ("codex", "resume", "n", "-C", "/f", "-s", "read-only", "-a", "on-request")
    assert any("model" in note for note in planned.notes)


def test_what_codex_cannot_be_told_is_noted() -> None:
    planned = CodexLauncher().plan(
        LaunchFacts(
            agent="codex", native_id="n", folder="/f", approval="untrusted", sandbox="workspace-write",
            model=None, pause_goal=False,
        )
    )  # fmt: skip
    assert planned is not None
    assert planned.notes == ("Codex does not know “untrusted”; it starts with “on-request”, read-only.",)
