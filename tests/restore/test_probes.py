"""What observations say of themselves."""

from resumed.restore.probes import WorktreeEntry


def test_a_head_is_a_full_reference_or_a_commit() -> None:
    assert WorktreeEntry("/w", "fix/payment", "5ha", True).head == "refs/heads/fix/payment"
    assert WorktreeEntry("/w", None, "5ha", True).head == "5ha"
    assert WorktreeEntry("/w", None, None, True).head is None
