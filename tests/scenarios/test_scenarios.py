"""Every kind of drift, looked at, left, and answered in each way, on real repositories.

What people read is kept beside this file; `--update` writes it anew.
"""

from pathlib import Path

import pytest

from resumed.protocol.restore import DriftKind
from tests.scenarios import commits, places, states
from tests.support.golden import Golden
from tests.support.scenario import Scenario, examine, take

SCENARIOS = {
    scenario.name: scenario for scenario in (*places.SCENARIOS, *commits.SCENARIOS, *states.SCENARIOS)
}

KINDS = (
    "otherProject gone moved worktreeRemoved stub otherRepository branchDiffers branchDeleted detached "
    "advanced rewritten commitGone inProgress silentSwitch fileChanged fileReverted fileGone policyLooser "
    "policyStricter fullAccess neverAsk planMode activeGoal danglingOperation"
)


def test_every_kind_has_a_scenario() -> None:
    assert [kind.value for kind in DriftKind] == KINDS.split()
    assert {scenario.kind for scenario in SCENARIOS.values()} == set(DriftKind)


def test_every_archive_has_its_scenario() -> None:
    assert {path.stem for path in Path(__file__).parent.glob("*.txt")} == SCENARIOS.keys()


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
async def test_scenario(scenario: Scenario, tmp_path: Path, update_goldens: bool) -> None:
    golden = Golden(Path(__file__).parent / f"{scenario.name}.txt")
    await examine(scenario, tmp_path / "0", golden)
    for number, choice in enumerate(scenario.choices, 1):
        await take(scenario, choice, tmp_path / str(number), golden)
    golden.compare(update_goldens)
