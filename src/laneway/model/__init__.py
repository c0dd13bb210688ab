"""Values that several parts hold: frozen, valid by type, no I/O."""
