"""What a restore is given: ids, the time and the request. It draws and reads none of them itself."""

import msgspec

from resumed.protocol.restore import Answer
from resumed.restore.recover import NOTHING_RECOVERED, Recovered
from resumed.restore.subsystem import Here


class RestoreContext(msgspec.Struct, frozen=True, kw_only=True):
    """Minted by the daemon before the conversation starts. `now` is RFC 3339 in UTC.

    `given` are answers from an earlier `needsAnswer`, with the token they were given for.
    With `unattended` nobody is asked. `recovered` is what was done first about restores that were cut
    off."""

    restore_id: str
    session_id: str
    now: str
    here: Here
    unattended: bool = False
    given: dict[str, Answer] = {}
    given_token: str | None = None
    recovered: Recovered = NOTHING_RECOVERED
