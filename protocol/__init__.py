"""The wire vocabulary: what travels between an editor, an agent and the daemon.

Types here are inert: they know no socket, no file and no restore logic. A method is one row of
`methods.py`; `schema.json` and `README.md` beside it are generated from that table.
"""
