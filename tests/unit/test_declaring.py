"""A function becomes a job by what it is called, what it takes and what is said beside it; called, it is itself."""

import asyncio
import functools
import inspect
import json
import subprocess
import sys

import pytest

from laneway.definitions.declare import HandlerJob, declare
from laneway.definitions.registry import Registry
from laneway.errors import DefinitionError, PayloadInvalid
from laneway.model.item import Item
from laneway.model.retry import Retry


def resize_image(image_id: int, width: int = 800) -> str:
    """Makes an image small.

    And more.
    """
    return f"{image_id}@{width}"


async def sync_folder(ctx, folder: str) -> str:  # noqa: ARG001
    return folder


def declared(function=resize_image, **options):
    return declare(function, registry=Registry(), **options)


def refused(function=resize_image, **options):
    with pytest.raises(DefinitionError) as caught:
        declared(function, **options)
    assert caught.value.hint
    return str(caught.value)


def test_a_function_says_most_by_itself():
    job = declared()
    assert (job.key, job.place) == ("resize-image", f"{__name__}.resize_image")
    assert job.origin == f"{__name__}:{inspect.getsourcelines(resize_image)[1]}"
    assert job.declaration.fields() == {"description": "Makes an image small.", "schema": job.payload.schema}
    assert repr(job) == f"<job resize-image of {job.origin}>"


def test_everything_may_be_said():
    job = declared(
        key="media/resize",
        queue="media",
        description="",
        tags=["images"],
        max_attempts=5,
        priority=50,
        timeout="15m",
        retry=Retry.fixed("30s"),
        system=True,
        aliases=["resize"],
        isolation="thread",
    )
    assert job.declaration.fields() == {
        "queue": "media",
        "tags": ["images"],
        "max_attempts": 5,
        "priority": 50,
        "timeout_seconds": 900,
        "backoff_kind": "fixed",
        "backoff_base_seconds": 30,
        "is_system": True,
        "schema": job.payload.schema,
    }
    assert (job.key, job.aliases) == ("media/resize", ("resize",))


def test_calling_a_job_is_calling_its_function():
    assert declared()(7, width=64) == "7@64"
    assert asyncio.run(declared(sync_folder)(None, "a")) == "a"


def test_a_job_still_looks_like_its_function():
    job = declared()
    assert (job.__name__, job.__doc__, job.__wrapped__) == ("resize_image", resize_image.__doc__, resize_image)
    assert inspect.signature(job) == inspect.signature(resize_image)


@pytest.mark.parametrize(
    ("function", "is_async", "isolation"), [(resize_image, False, "thread"), (sync_folder, True, "coroutine")]
)
def test_a_handler_runs_where_it_fits(function, is_async, isolation):
    job = declared(function)
    assert (job.is_async, job.isolation) == (is_async, isolation)


def test_a_job_is_in_its_registry_once_it_is_declared():
    registry = Registry()
    job = declare(resize_image, registry=registry)
    assert registry.job_for("resize-image") is job
    with pytest.raises(DefinitionError, match=f"is declared twice: {job.origin} and {job.origin}"):
        declare(resize_image, registry=registry)


def test_a_subclass_is_a_job_as_well():
    class Louder(HandlerJob):
        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs) + "!"

    assert Louder(resize_image, {"queue": "media"})(7) == "7@800!"


def test_an_item_has_key_and_payload():
    assert declared().item(7, width=64) == Item("resize-image", '{"image_id":7,"width":64}')
    assert declared(sync_folder).item("a") == Item("sync-folder", '{"folder":"a"}')


def test_an_item_of_a_wrong_call_is_refused():
    with pytest.raises(PayloadInvalid, match="/widht: it is not known"):
        declared().item(7, widht=64)


def test_leading_underscores_are_no_part_of_a_key():
    def _private_job(): ...

    assert declared(_private_job).key == "private-job"


def test_a_wrapped_function_is_read_as_what_it_wraps():
    @functools.wraps(resize_image)
    def traced(*args, **kwargs):
        return "traced " + resize_image(*args, **kwargs)

    job = declared(traced)
    assert job(7) == "traced 7@800"
    assert json.loads(job.item(7).payload) == {"image_id": 7, "width": 800}
    assert job.origin == declared().origin


@pytest.mark.parametrize(
    "option",
    [
        "in_flight",
        "in_flight_per_tenant",
        "start_rate",
        "start_rate_per_tenant",
        "ordering_key",
        "schedule",
        "interval",
        "init",
        "on_success",
        "on_failure",
        "on_dead",
        "retention",
    ],
)
def test_an_option_that_would_not_be_kept_is_refused(option):
    assert f"job {__name__}.resize_image: option '{option}' is not available in this release" in refused(**{option: 8})


def test_an_option_that_is_none_is_answered_with_the_nearest_or_with_all():
    assert f"""job {__name__}.resize_image: option 'time_out' is not known. Did you mean "timeout"?""" in refused(
        time_out="5m"
    )
    assert "option 'xyz' is not known. Use key, queue, description" in refused(xyz=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": "soon"}, 'timeout: "soon" is not a duration'),
        ({"timeout": "8d"}, 'timeout: "8d" is out of range. Use a whole number from 1 to 604800 seconds.'),
        ({"timeout": "1500ms"}, 'timeout: "1500ms" is out of range'),
        ({"queue": "a b"}, 'queue: "a b" is malformed'),
        ({"queue": None}, 'queue: "null" is malformed'),
        ({"key": "a b"}, 'key: "a b" is malformed'),
        ({"tags": "images"}, 'tags: "images" is not a list'),
        ({"retry": "5s"}, 'retry: "5s" is not a Retry'),
        ({"isolation": "process"}, 'isolation: "process" is not available in this release'),
        ({"isolation": "coroutine"}, 'isolation: "coroutine" does not fit a handler that is sync'),
        ({"isolation": 5}, 'isolation: "5" does not fit'),
    ],
)
def test_a_wrong_option_is_refused_with_the_place_of_the_job(options, said):
    assert f"job {__name__}.resize_image: {said}" in refused(**options)


def yields():
    yield 1


async def yields_in_a_loop():
    yield 1


def takes_anything(**anything): ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (yields, "it yields"),
        (yields_in_a_loop, "it yields"),
        (takes_anything, "takes arguments of any name"),
        (lambda: None, 'key: "<lambda>" is malformed'),
        (functools.partial(resize_image, 7), "is a partial, not a function"),
        (Registry, "is a type, not a function"),
        (len, "not a function"),
        (None, "not a function"),
    ],
)
def test_what_is_no_handler_is_refused_at_once(function, said):
    assert said in refused(function)


def test_annotations_may_name_what_comes_later():
    def handler(payload: "ComesLater"): ...  # noqa: F821

    job = declared(handler)
    handler.__globals__["ComesLater"] = int
    assert job.item(5).payload == '{"payload":5}'
    del handler.__globals__["ComesLater"]


def test_a_long_docstring_is_cut_and_a_long_description_is_not():
    def handler(): ...

    handler.__doc__ = "x" * 3000
    assert len(declared(handler).declaration.description) == 2000
    assert "description: " in refused(handler, description="x" * 3000)


def test_declaring_imports_neither_pydantic_nor_the_checker_of_schemas():
    code = (
        "import sys\n"
        "from laneway.definitions.declare import declare\n"
        "from laneway.definitions.registry import Registry\n"
        "from laneway.definitions import discover\n"
        "def f(x: int): ...\n"
        "declare(f, registry=Registry(), timeout='5m')\n"
        "print([name for name in sys.modules if name in {'pydantic', 'pydantic_core', 'jsonschema_rs', 'psycopg'}])\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
