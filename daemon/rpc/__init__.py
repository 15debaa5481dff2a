"""Talking to clients: frames, messages, connections, dispatch, the socket server and a client.

Only `lsp.py` may import pygls or lsprotocol: they cost 0.4 s, and the first reply must not wait for them.
"""
