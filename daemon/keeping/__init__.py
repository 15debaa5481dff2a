"""What is done with a conversation as a whole: put away, removed, carried to another machine, checked."""
