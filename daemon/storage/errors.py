"""The refusals and failures of storage. Each says one sentence; the RPC layer gives codes and hints."""


class StorageError(Exception):
    """Base of all of them. `sentence` is for people; nothing was changed unless a subclass says so."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class StateReadOnly(StorageError):
    """The state folder, or this stream, may be read and not written."""


class StateGone(StorageError):
    """The state folder was removed, or another one stands in its place. Nothing was written."""


class StateRefused(StorageError):
    """The state folder may not be used at all: it is not a folder, not ours, or open to everyone."""


class StorageFailed(StorageError):
    """The disk refused. The event was not acknowledged; sending it again, with its id, is safe."""


class StreamMissing(StorageError):
    """There is no such stream."""


class StreamExists(StorageError):
    """The stream was created before, by another first event."""


class StreamBusy(StorageError):
    """Another process is the writer of this stream."""


class EventConflict(StorageError):
    """The event id is on record with another content."""


class EventRefused(StorageError):
    """The event can't be stored: not encodable, too large, or not what a stream may begin with."""


class IndexFailed(StorageError):
    """The index could not be read or written; the streams are not affected."""


class IndexDamaged(IndexFailed):
    """The index is corrupt and must be set aside; the streams are not affected."""


class CursorRefused(StorageError):
    """The page cursor is not one that the index gave out."""
