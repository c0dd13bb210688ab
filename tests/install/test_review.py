"""`migrate status` and `migrate check`: what is pending, and what is not as it was left."""

import pytest
from releases import FIRST, SECOND, changed

from laneway.database.install_errors import InstallConflictError, InstallPermissionError
from laneway.database.review import review


def findings(place, files, **login):
    with place.connect(**login) as conn:
        return review(conn, schema=place.schema, files=files).findings()


def test_an_empty_database_is_not_installed(place):
    assert findings(place, place.release(FIRST)) == (f'schema "{place.schema}" is not installed',)


@pytest.mark.parametrize("place", ["plain", "odd"], indirect=True)
def test_after_an_apply_there_is_nothing_to_find(place):
    place.install(place.release(FIRST))
    assert findings(place, place.release(FIRST)) == ()


def test_an_older_database_is_told_what_is_pending(place):
    place.install(place.release(FIRST))
    found = findings(place, place.release(SECOND))
    assert 'migration "0002_moods" is pending' in found
    assert "functions/notes.sql has changed since it was applied" in found
    assert "function old_way is made by no file any more" in found
    assert "access.csv has changed since it was applied" in found
    assert len(found) == 4


TAMPERINGS = {
    "alter function old_way() security definer": "function old_way",
    "create or replace function old_way() returns text language sql as 'select 1::text'": "function old_way",
    "alter function add_note reset enable_seqscan": "function add_note",
    "alter function add_note reset search_path": "function add_note",
    "grant execute on function old_way() to public": "function old_way",
    "revoke execute on function add_note from {0}_app": "function add_note",
    "grant update on note to {0}_app": "table note",
    "grant update (body) on note to {0}_app": "table note",
    "grant select on happening_1 to {0}_app": "table happening",
    "alter table happening_1 disable row level security": "table happening",
    "alter table note disable row level security": "table note",
    "alter policy app on note using (true)": "table note",
    "drop policy app on note": "table note",
    "create policy more on note for select to {0}_worker using (true)": "table note",
    "create policy more on happening_1 for select using (true)": "table happening",
    "alter view note_list set (security_invoker = false)": "view note_list",
    "grant create on schema {0} to {0}_app": "schema",
}
# What no apply can mend: told again and again until somebody does.
LASTING = {
    "drop index note_body": "table note",
    "alter table note alter column body drop not null": "table note",
    "alter table note add column more text": "table note",
    "alter table note drop constraint note_body_check": "table note",
    "alter table note set (fillfactor = 100)": "table note",
    "alter role {0}_app bypassrls": "role app",
    "alter role {0}_app login": "role app",
    "grant {0}_owner to {0}_app": "role app",
    "comment on table note is 'Other'": "table note",
    "alter default privileges for role {0}_owner grant execute on routines to {0}_app": "default privileges",
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_what_was_tampered_with_is_found_and_mended(place, tampering):
    files = place.release(FIRST)
    place.install(files)
    before = place.catalogue()
    place.run(tampering.format(place.schema))
    assert findings(place, files) == (f"{TAMPERINGS[tampering]} is not as Laneway left it",)
    result = place.install(files)
    assert result.mended == (TAMPERINGS[tampering],)
    assert place.catalogue() == before
    assert findings(place, files) == ()


@pytest.mark.parametrize("tampering", LASTING)
def test_what_an_apply_cannot_mend_is_found_again(place, tampering):
    files = place.release(FIRST)
    place.install(files)
    place.run(tampering.format(place.schema))
    for _ in range(2):
        result = place.install(files)
        assert result.mended == ()
        assert result.warnings == (f"{LASTING[tampering]} is not as Laneway left it: see laneway migrate check",)
        assert findings(place, files) == (f"{LASTING[tampering]} is not as Laneway left it",)


def test_default_privileges_are_taken_from_public_again(place):
    files = place.release(FIRST)
    place.install(files)
    before = place.catalogue()
    place.run(f"alter default privileges for role {place.schema}_owner grant execute on routines to public")
    assert findings(place, files) == ("default privileges is not as Laneway left it",)
    place.install(files)
    assert place.catalogue() == before


def test_a_strangers_table_is_found(place):
    place.install(place.release(FIRST))
    place.run("create table stranger (id integer)")
    assert findings(place, place.release(FIRST)) == ("table stranger is not ours: move it to another schema",)


def test_new_partitions_are_not_drift(place):
    place.install(place.release(FIRST))
    place.run(
        f"set role {place.schema}_owner; create table happening_2 partition of happening"
        " for values from ('2026-02-01') to ('2026-03-01'); alter table happening_2 enable row level security"
    )
    assert findings(place, place.release(FIRST)) == ()


def test_a_changed_applied_migration_is_refused_by_name(place):
    place.install(place.release(FIRST))
    with pytest.raises(
        InstallConflictError, match=r'"0001_notes" was applied by Laneway 1.0.0 and its file has changed'
    ):
        findings(place, place.release(changed(FIRST, "migrations/0001_notes.sql", "Notes.", "All notes.")))


def test_a_login_that_may_not_look_is_told_so(place):
    place.install(place.release(FIRST))
    with pytest.raises(InstallPermissionError, match="may not look into schema"):
        findings(place, place.release(FIRST), login=place.login("admin"))


def test_looking_changes_and_locks_nothing(place):
    place.install(place.release(FIRST))
    before = place.catalogue()
    with place.connect() as caller, caller.transaction():
        caller.execute(f"lock table {place.schema}.note in row exclusive mode")
        assert findings(place, place.release(SECOND))
    assert place.catalogue() == before
