import msgspec

from resumed.protocol.restore import Answer
from resumed.restore.launch import launch_facts
from resumed.restore.probes import CeilingProbe, CeilingSeen, Seen
from resumed.restore.subsystem import Here, Target
from tests.support.story import REPO_A, payments, permitted

SEEN: Seen = {CeilingProbe("codex"): CeilingSeen()}
TARGET = Target(
    here=Here(root=REPO_A, home="/home/dev", agent="codex"),
    recorded_root=REPO_A,
    root=REPO_A,
    cwd=f"{REPO_A}/sub",
)


def test_it_starts_with_what_was_settled() -> None:
    record = payments().add(permitted("never", "danger-full-access", goal="active")).record
    facts = launch_facts(record, SEEN, {}, TARGET)
    assert facts is not None
    assert msgspec.structs.asdict(facts) == {
        "agent": "codex",
        "native_id": record.native_id,
        "folder": f"{REPO_A}/sub",
        "approval": "on-request",
        "sandbox": "workspace-write",
        "model": "gpt-5.6-sol",
        "pause_goal": True,
    }


def test_what_was_chosen_is_in_it() -> None:
    record = payments().add(permitted("never", goal="active")).record
    choices = {
        "permissions.neverAsk": Answer(choice="never", typed="skip"),
        "permissions.activeGoal": Answer(choice="continue"),
    }
    facts = launch_facts(record, SEEN, choices, msgspec.structs.replace(TARGET, cwd=None))
    assert facts is not None
    assert (facts.approval, facts.pause_goal, facts.folder) == ("never", False, REPO_A)


def test_without_a_conversation_of_the_agents_own_or_a_folder_nothing_is_started() -> None:
    record = payments().record
    assert launch_facts(msgspec.structs.replace(record, native_id=None), SEEN, {}, TARGET) is None
    assert launch_facts(record, SEEN, {}, msgspec.structs.replace(TARGET, root=None)) is None
