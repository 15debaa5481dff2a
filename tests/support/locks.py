"""The locks of streams, held and tried as another process would."""

import contextlib
import os
from collections.abc import Iterator

from resumed.daemon.storage import disk
from resumed.daemon.storage.layout import Layout


@contextlib.contextmanager
def written_elsewhere(layout: Layout, stream: str) -> Iterator[None]:
    """Be the stream's writer for as long as the block runs."""
    descriptor = disk.lock(layout.stream_lock_path(stream))
    assert descriptor is not None
    try:
        yield
    finally:
        os.close(descriptor)


def is_free(layout: Layout, stream: str) -> bool:
    """Whether nobody is the stream's writer."""
    descriptor = disk.lock(layout.stream_lock_path(stream))
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None
