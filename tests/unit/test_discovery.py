"""An application is found by its path, or it is said what exactly is not there."""

import sys

import pytest

from laneway.definitions.discover import load
from laneway.definitions.registry import Registry
from laneway.errors import ConfigurationError

MODULES = {
    "shop_found/__init__.py": "",
    "shop_found/bare.py": "",
    "shop_found/jobs.py": "from laneway.definitions.registry import Registry\napp = Registry()\napplication = 5\n",
    "shop_found/broken.py": "import no_such_library\n",
    "shop_found/half.py": "from shop_found.jobs import nothing\n",
    "shop_found/wrong.py": "1 / 0\n",
    "shop_found/empty.py": "class holder:\n    from shop_found.jobs import app\n",
}


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A package in a folder that Python does not look in."""
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop_found"]:
        del sys.modules[name]


def refused(path, **options):
    with pytest.raises(ConfigurationError, match=r"^app: ") as caught:
        load(path, Registry, **options)
    assert (caught.value.field, caught.value.value) == ("app", path)
    return str(caught.value)


def test_an_application_is_found(shop):
    app = load("shop_found.jobs:app", Registry, from_directory=shop)
    assert app is sys.modules["shop_found.jobs"].app
    assert app is load("shop_found.empty:holder.app", Registry)


def test_a_folder_is_looked_in_only_when_it_is_given(shop, monkeypatch):
    monkeypatch.chdir(shop)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder not in {"", "."}])
    assert 'there is no module "shop_found"' in refused("shop_found.jobs:app")
    assert str(shop) not in sys.path


def test_a_folder_is_put_in_front_once(shop):
    load("shop_found.jobs:app", Registry, from_directory=shop)
    load("shop_found.jobs:app", Registry, from_directory=shop)
    assert sys.path.index(str(shop)) == 0
    assert sys.path.count(str(shop)) == 1


@pytest.mark.parametrize(
    "path", ["", "shop", "shop:", ":app", "shop.jobs.app", "shop/jobs.py:app", "a:b:c", "shop..jobs:app", "1:a", "a:b "]
)
def test_what_is_no_path_is_answered_with_one(path):
    assert "Write for example shop.jobs:app." in refused(path)


@pytest.mark.parametrize(
    ("path", "missing"),
    [("no_such:app", "no_such"), ("no_such.jobs:app", "no_such"), ("shop_found.jbos:app", "shop_found.jbos")],
)
def test_a_module_that_is_not_there_is_named(shop, path, missing):
    assert f'there is no module "{missing}". Python looked in ' in refused(path, from_directory=shop)


@pytest.mark.parametrize(
    ("module", "fact"), [("broken", "No module named 'no_such_library'"), ("half", "cannot import name 'nothing'")]
)
def test_an_import_that_fails_inside_is_told_apart(shop, module, fact):
    said = refused(f"shop_found.{module}:app", from_directory=shop)
    assert f'module "shop_found.{module}" is there, but importing it failed: {fact}' in said


def test_any_other_error_of_the_module_is_its_own(shop):
    with pytest.raises(ZeroDivisionError):
        load("shop_found.wrong:app", Registry, from_directory=shop)


def test_a_name_that_is_not_there_is_answered_with_near_ones(shop):
    assert '"shop_found.jobs" has no "ap". It has app' in refused("shop_found.jobs:ap", from_directory=shop)
    assert "It has Registry, app, application." in refused("shop_found.jobs:zzz", from_directory=shop)
    assert "It is empty." in refused("shop_found.bare:zzz", from_directory=shop)


def test_another_kind_of_thing_is_refused(shop):
    said = refused("shop_found.jobs:application", from_directory=shop)
    assert '"shop_found.jobs:application" is a int, not a Registry' in said
