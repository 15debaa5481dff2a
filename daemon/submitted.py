"""The types of event that an agent may append by itself, and what in them is free text.

Free text is masked before it is recorded. Ids, digests and paths are not: they are compared with the world.
"""

SUBMITTED = {
    "entry_added": ("text",),
    "entry_amended": ("text",),
    "leaf_moved": ("cause",),
    "boundary": ("reason", "summary"),
    "usage_recorded": (),
    "check_recorded": ("command", "findings"),
    "model_set": ("overrides",),
    "permissions_set": ("cause", "goal"),
    "environment_seen": ("toolchain", "environment"),
    "prompt_set": ("sections",),
    "state_invalidated": ("reason",),
    "extension_set": (),
}
"""Each type's fields of free text; nested values and their keys are part of them."""
