from installing import common_database, own_place, place, server  # noqa: F401
