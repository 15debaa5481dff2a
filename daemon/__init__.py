"""The shell: every read, write, clock, socket and child process of `resumed`.

Imports run one way: the daemon may import `restore` and `protocol`, neither may import the daemon.
"""
