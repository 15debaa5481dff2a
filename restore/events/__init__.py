"""The closed union of events: one row per type, in the order of the event table.

A new event is a struct in this package, a row here, and a subsystem's `handles` (or nobody's).
"""

from resumed.restore.events import journal, session, thread, worktree
from resumed.restore.events.envelope import Payload

SCHEMA_VERSION = 1

EVENT_TYPES: dict[str, type[Payload]] = {
    "session_meta": session.SessionMeta,
    "thread_meta": thread.ThreadMeta,
    "worktree_meta": worktree.WorktreeMeta,
    "segment": journal.Segment,
    "note": journal.Note,
    "ingested": session.Ingested,
    "session_linked": thread.SessionLinked,
    "session_ended": session.SessionEnded,
    "process_observed": session.ProcessObserved,
    "daemon_run": worktree.DaemonRun,
    "turn_started": session.TurnStarted,
    "turn_ended": session.TurnEnded,
    "entry_added": session.EntryAdded,
    "entry_amended": session.EntryAmended,
    "leaf_moved": session.LeafMoved,
    "boundary": session.Boundary,
    "operation_begun": session.OperationBegun,
    "operation_settled": session.OperationSettled,
    "result_stored": session.ResultStored,
    "operation_resolved": session.OperationResolved,
    "file_version": worktree.FileVersion,
    "edit_predicted": worktree.EditPredicted,
    "human_saved": worktree.HumanSaved,
    "checkpoint_taken": worktree.CheckpointTaken,
    "head_moved": worktree.HeadMoved,
    "worktree_bound": session.WorktreeBound,
    "permissions_set": session.PermissionsSet,
    "model_set": session.ModelSet,
    "environment_seen": session.EnvironmentSeen,
    "prompt_set": session.PromptSet,
    "todos_set": session.TodosSet,
    "usage_recorded": session.UsageRecorded,
    "check_recorded": session.CheckRecorded,
    "state_invalidated": session.StateInvalidated,
    "restore_planned": journal.RestorePlanned,
    "restore_answered": journal.RestoreAnswered,
    "restore_step": journal.RestoreStep,
    "restore_closed": journal.RestoreClosed,
    "thread_patched": thread.ThreadPatched,
    "binding_changed": thread.BindingChanged,
    "extension_set": session.ExtensionSet,
}

TYPE_NAMES: dict[type[Payload], str] = {payload: name for name, payload in EVENT_TYPES.items()}
