"""The types of event that an agent may append by itself."""

SUBMITTED = frozenset(
    {
        "entry_added", "entry_amended", "leaf_moved", "boundary", "usage_recorded", "check_recorded",
        "model_set", "permissions_set", "environment_seen", "prompt_set", "state_invalidated",
        "extension_set",
    }
)  # fmt: skip
