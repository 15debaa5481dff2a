"""The world as the daemon meets it: git, files, processes, policies and the clock."""
