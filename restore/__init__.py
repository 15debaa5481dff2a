"""The pure core: what happened, what differs now, in which order to restore, what to ask.

Nothing here awaits, opens a file, reads a clock or draws a random number. Restore *asks* for
effects and is *told* what came of them; ids, the time and the policy arrive in a `RestoreContext`.
"""
