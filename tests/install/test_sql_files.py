"""The files of a release are read and checked before anything touches a database."""

import pytest
from releases import FIRST, changed

from laneway.database.install_errors import InstallError
from laneway.database.names import Names
from laneway.database.sqlfiles import SqlFiles
from laneway.database.sqltext import Made, statements


def load(files, folder):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return SqlFiles.from_directory(folder)


def test_a_release_is_read_in_its_order(tmp_path):
    files = load(FIRST, tmp_path)
    assert [migration.name for migration in files.migrations] == ["0000_bookkeeping", "0001_notes"]
    assert [file.name for file in files.functions] == ["foundation.sql", "notes.sql"]
    assert files.functions[1].makes == (
        Made("function", "add_note"),
        Made("function", "count_notes"),
        Made("function", "old_way"),
        Made("function", "by_version"),
        Made("view", "note_list"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select 1; select 2", ["select 1", "select 2"]),
        ("select ';' ; select \";\"", ["select ';'", 'select ";"']),
        ("-- a; b\nselect 1; /* ; /* ; */ ; */ select 2;", ["select 1", "select 2"]),
        ("select $$ ; $$, $a$ ; $$ ; $a$; select 2", ["select $$ ; $$, $a$ ; $$ ; $a$", "select 2"]),
        (r"select e'\';'; select 'it''s;'", [r"select e'\';'", "select 'it''s;'"]),
        ("select $1; select a$b$c from t", ["select $1", "select a$b$c from t"]),
        (
            "create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3",
            [
                "create function f() returns int begin atomic select case when true then 1 end; select 2; end",
                "select 3",
            ],
        ),
        (" ; ;\n-- nothing\n", []),
    ],
)
def test_a_file_is_cut_at_the_semicolons_that_end_statements(text, expected):
    assert [statement.text for statement in statements(text)] == expected


def test_a_statement_knows_its_line_and_what_it_makes():
    text = '-- one\n\ncreate or replace function "Odd ""Name"() returns int language sql as $$ select 1 $$;\nselect 1'
    made, other = statements(text)
    assert (made.line, made.makes) == (3, (Made("function", 'Odd "Name'),))
    assert (other.line, other.makes) == (4, ())


@pytest.mark.parametrize(
    ("path", "old", "new", "sentence"),
    [
        ("access.csv", "function,old_way", "thing,old_way", 'kind "thing" is not known'),
        ("access.csv", "view,note_list,any", "view,note_list,all", 'app "all" of view note_list is not known'),
        ("access.csv", "table,counted,,,,,,,,\n", "table,counted,\n", "3 cells, 10 are needed"),
        ("access.csv", "table,counted,,,,,,,,\n", "table,note,,,,,,,,\n", "table note has two rows"),
        ("access.csv", "kind,name,app", "kind,name,apps", 'access.csv: the header is "kind,name,apps'),
        ("functions/order.txt", "notes", "memos", '"memos.sql" is not there'),
        ("functions/order.txt", "notes\n", "", '"notes.sql" is not listed'),
        ("functions/order.txt", "notes\n", "notes\nnotes\n", '"notes.sql" is listed twice'),
        (
            "functions/notes.sql",
            "create or replace function old_way",
            "create function old_way",
            "cannot be applied again",
        ),
        ("functions/notes.sql", "function old_way", "function laneway.old_way", '"laneway.old_way" names a schema'),
        ("functions/notes.sql", "function old_way()", "function current_tenant()", "is made by foundation.sql and by"),
        ("migrations/0001_notes.sql", "insert into", "create or replace function f();insert into", "makes function f"),
        ("pins.csv", "add_note,", "no_note,", 'no file makes function "no_note"'),
        ("pins.csv", "enable_seqscan=off", "enable_seqscan", "is not a pin"),
        ("pins.csv", "function,settings", "functions,setting", "pins.csv: the header is"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(tmp_path, path, old, new, sentence):
    with pytest.raises(InstallError, match=r"\. [A-Z]") as refused:
        load(changed(FIRST, path, old, new), tmp_path)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("1_short.sql", "select 1", '"1_short.sql" is not a name'),
        ("0001_again.sql", "select 1", 'has the number of "0001_'),
        ("0002_two.sql", "-- no transaction\nselect 1; select 2", "holds 2 statements"),
    ],
)
def test_a_migration_has_a_number_of_its_own(tmp_path, name, text, sentence):
    with pytest.raises(InstallError) as refused:
        load({**FIRST, f"migrations/{name}": text}, tmp_path)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("schema", ["", "public", "pg_lane", "information_schema", "x" * 54, "ü" * 27, "a\0b"])
def test_a_schema_name_that_cannot_be_ours_is_refused(schema):
    with pytest.raises(InstallError, match="schema: ") as refused:
        Names(schema)
    assert refused.value.hint


def test_the_longest_schema_name_leaves_room_for_the_roles():
    assert len(Names("x" * 53).role("scheduler").encode()) == 63
