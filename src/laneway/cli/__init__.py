"""The command line. Each module is a noun; it imports what a command needs when the command is run."""
