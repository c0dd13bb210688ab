"""What tests stand on: one server, a database per test, a clock that moves, gates, sessions in a given order."""
