"""One module per file of `sql/functions`, one function per SQL function, with the same names: each makes a `Call`."""
