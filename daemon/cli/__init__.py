"""The command line: each command makes one call and prints the answer.

What starts with the program stays light: rich, asyncio and the client are imported by what uses them.
"""
