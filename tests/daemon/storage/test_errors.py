"""Storage errors: one sentence each, and the kinds that callers tell apart."""

from resumed.daemon.storage.errors import IndexDamaged, IndexFailed, StorageError, StorageFailed


def test_an_error_carries_its_sentence() -> None:
    error = StorageFailed("The disk is full.")
    assert (error.sentence, str(error)) == ("The disk is full.", "The disk is full.")


def test_a_damaged_index_is_an_index_that_failed() -> None:
    assert issubclass(IndexDamaged, IndexFailed)
    assert issubclass(IndexFailed, StorageError)
    assert not issubclass(IndexFailed, StorageFailed)
