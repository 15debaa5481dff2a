"""What the daemon keeps: streams (append-only, the truth), contents by their hash, the index
(derived), leases, the layout.

SQLite is used here and nowhere else, and nothing here decides what an event means.
"""
