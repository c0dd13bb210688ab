"""Callers in a loop while something else happens."""

import threading

import psycopg


class Callers:
    """Connections of one login that call as clients do, by named arguments and columns, until the block ends."""

    def __init__(self, place, login, *, count):
        self._place = place
        self._login = login
        self._stop = threading.Event()
        self.calls = [0] * count
        self.errors = []

    def __enter__(self):
        self._threads = [threading.Thread(target=self._call, args=(number,)) for number in range(len(self.calls))]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)

    def _call(self, number):
        schema = self._place.schema
        with self._place.connect(self._login) as conn:
            while not self._stop.is_set():
                try:
                    with conn.transaction():
                        conn.execute(
                            f"select {schema}.add_note(p_tenant => gen_random_uuid(), p_id => %s)", [number]
                        ).fetchone()
                        conn.execute(f"select amount from {schema}.count_notes()").fetchone()
                except psycopg.Error as error:
                    self.errors.append(f"{error.sqlstate} {error}")
                self.calls[number] += 1
