"""What people start: the command line, the launcher of ranks and the functions for Python."""
