"""The door to PostgreSQL: installing the SQL, reading its catalogue, calling its functions."""
