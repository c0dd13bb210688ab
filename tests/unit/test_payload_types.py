"""A call of a handler becomes a document, and the same call again; what would not come back is refused at once."""

import dataclasses
import enum
import json
import math
import socket
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, NaiveDatetime, SecretStr, computed_field

from laneway.definitions.schema import build
from laneway.errors import DefinitionError, PayloadInvalid
from laneway.model.context import HandlerContext
from laneway.payload_schema import Checker

FOLDER = UUID("0192f0c1-0000-7000-8000-000000000001")
T = TypeVar("T")


class Context(HandlerContext):
    pass


class SyncContext(HandlerContext):
    pass


class MyContext(Context):
    pass


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    color: Color
    price: Decimal
    at: datetime


class SyncFolder(BaseModel):
    folder_id: UUID
    full: bool = False
    inner: list[Inner] = []
    raw: Any = None


@dataclasses.dataclass
class Node:
    name: str
    kids: list["Node"] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Box(Generic[T]):
    content: T


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    folder_id: UUID


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    folder_id: UUID = Field(alias="folder")

    @computed_field
    @property
    def twice(self) -> str:
        return f"{self.folder_id}{self.folder_id}"


class Lossy(BaseModel):
    kept: int
    lost: int = Field(exclude=True)


def sync_folder(ctx: Context, payload: SyncFolder): ...
def resize(image_id: int, width: int = 800, *, mode: Literal["fit", "crop"] = "fit"): ...
def walk(ctx: Context, root: Node): ...
def unpack(box: Box[int]): ...
def strict(payload: Strict): ...
def renamed(payload: Renamed): ...
def lossy(payload: Lossy): ...
def untyped(first, second=None, third=(1, 2)): ...
def nothing(): ...
def only_context(ctx): ...
def two_models(one: Node, two: Strict): ...
def odd_names(json: int, _hidden: int, model_config: int, self: int, copy: int, schema: int): ...
def constrained(width: Annotated[int, Field(alias="w", ge=3)] = 5): ...
def implied_none(width: int = None): ...  # noqa: RUF013 (as people write it)
def with_secret(password: SecretStr): ...
def defaulted(ctx, payload: Node = Node("root")): ...  # noqa: B008 (a default that is a value)
def optional_number(number: float | None = None, numbers: dict[str, float] | None = None): ...
def times(naive: NaiveDatetime, aware: AwareDatetime, either: list[datetime]): ...
def later(value: "Later"): ...


class Later(BaseModel):
    x: int


def there_and_back(function, *args, **kwargs):
    """The arguments by name, as the handler gets them."""
    payload = build(function)
    text = payload.encode(args, kwargs)
    assert Checker(payload.schema).check(json.loads(text)) == ()
    call = payload.decode(text)
    assert call.args == ()
    return call.kwargs


def faults(function, *args, **kwargs):
    with pytest.raises(PayloadInvalid) as caught:
        build(function).encode(args, kwargs)
    return [(fault.path, fault.message) for fault in caught.value.errors]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "arrived"),
    [
        (resize, (7,), {}, {"image_id": 7, "width": 800, "mode": "fit"}),
        (resize, (7, 64), {"mode": "crop"}, {"image_id": 7, "width": 64, "mode": "crop"}),
        (resize, (), {"image_id": "7"}, {"image_id": 7, "width": 800, "mode": "fit"}),
        (walk, (Node("a", [Node("b")]),), {}, {"root": Node("a", [Node("b")])}),
        (walk, (), {"root": Node("a")}, {"root": Node("a")}),
        (unpack, (Box(7),), {}, {"box": Box(7)}),
        (strict, (Strict(folder_id=FOLDER),), {}, {"payload": Strict(folder_id=FOLDER)}),
        (renamed, (Renamed(folder=FOLDER),), {}, {"payload": Renamed(folder=FOLDER)}),
        (untyped, (1,), {}, {"first": 1, "second": None, "third": [1, 2]}),
        (nothing, (), {}, {}),
        (only_context, (), {}, {}),
        (
            two_models,
            (Node("a"), Strict(folder_id=FOLDER)),
            {},
            {"one": Node("a"), "two": Strict(folder_id=FOLDER)},
        ),
        (
            odd_names,
            (1, 2, 3, 4, 5, 6),
            {},
            {"json": 1, "_hidden": 2, "model_config": 3, "self": 4, "copy": 5, "schema": 6},
        ),
        (constrained, (), {}, {"width": 5}),
        (implied_none, (), {}, {"width": None}),
        (defaulted, (), {}, {"payload": Node("root")}),
        (later, (Later(x=1),), {}, {"value": Later(x=1)}),
    ],
)
def test_a_call_comes_back_as_it_was_made(function, args, kwargs, arrived):
    assert there_and_back(function, *args, **kwargs) == arrived


INNERS = st.builds(
    Inner,
    color=st.sampled_from(Color),
    price=st.decimals(allow_nan=False, allow_infinity=False),
    at=st.datetimes() | st.datetimes(timezones=st.just(UTC)),
)


@given(st.builds(SyncFolder, folder_id=st.uuids(), full=st.booleans(), inner=st.lists(INNERS, max_size=3)))
def test_every_model_comes_back_and_fits_its_schema(model):
    assert there_and_back(sync_folder, model) == {"payload": model}


@given(
    a=st.timedeltas(timedelta(days=-99999), timedelta(days=99999)),
    b=st.times(),
    c=st.dates(),
    d=st.binary(max_size=0) | st.text(st.characters(codec="ascii", exclude_characters="\0")).map(str.encode),
    e=st.frozensets(st.integers()),
    f=st.dictionaries(st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    g=st.tuples(st.booleans(), st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"))),
)
def test_every_plain_type_comes_back_and_fits_its_schema(a, b, c, d, e, f, g):
    assert there_and_back(everything, a, b, c, d, e, f, g) == dict(zip("abcdefg", (a, b, c, d, e, f, g), strict=True))


def everything(
    a: timedelta,
    b: time,
    c: date,
    d: bytes,
    e: frozenset[int],
    f: dict[int, float],
    g: tuple[bool, str | None],
): ...


def test_the_one_model_is_the_payload_itself():
    assert json.loads(build(sync_folder).encode((SyncFolder(folder_id=FOLDER),), {})) == {
        "folder_id": str(FOLDER),
        "full": False,
        "inner": [],
        "raw": None,
    }


def test_arguments_become_an_object_that_knows_no_others():
    assert build(resize).schema == {
        "title": "resize",
        "type": "object",
        "properties": {
            "image_id": {"type": "integer"},
            "width": {"type": "integer", "default": 800},
            "mode": {"type": "string", "enum": ["fit", "crop"], "default": "fit"},
        },
        "required": ["image_id"],
        "additionalProperties": False,
    }


def test_a_constraint_stands_in_the_schema_under_the_name_of_the_argument():
    assert build(constrained).schema["properties"] == {"width": {"type": "integer", "minimum": 3, "default": 5}}


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((), {}, [("/image_id", "it is missing")]),
        ((7,), {"widht": 3}, [("/widht", "it is not known")]),
        ((7,), {"image_id": 8}, [("/image_id", "it is given twice")]),
        ((7, 8, "crop"), {}, [("", "3 arguments are given by position, 2 can be")]),
        ((), {"widht": 3}, [("/widht", "it is not known"), ("/image_id", "it is missing")]),
    ],
)
def test_a_forgotten_or_unknown_argument_is_named(args, kwargs, told):
    assert faults(resize, *args, **kwargs) == told


def test_a_wrong_call_is_answered_with_what_the_handler_takes():
    with pytest.raises(PayloadInvalid, match="It takes image_id, width, mode") as caught:
        build(resize).encode((), {})
    assert f"payload of {__name__}.resize: /image_id: it is missing" in str(caught.value)
    with pytest.raises(PayloadInvalid, match="It takes no arguments"):
        build(nothing).encode((1,), {})


def test_a_wrong_value_has_its_path_and_is_shown():
    with pytest.raises(PayloadInvalid) as caught:
        build(sync_folder).encode(({"folder_id": FOLDER, "inner": [{"color": "green", "price": 1, "at": 0}]},), {})
    (fault,) = caught.value.errors
    assert (fault.path, fault.value) == ("/inner/0/color", "green")


def test_a_model_that_was_changed_to_nonsense_is_refused():
    folder = SyncFolder(folder_id=FOLDER)
    folder.full = "perhaps"
    assert [path for path, _ in faults(sync_folder, folder)] == ["/full"]
    assert [path for path, _ in faults(walk, Node(7))] == ["/name"]


def test_paths_do_not_name_the_members_of_a_union():
    def either(x: int | list[int] | Color): ...

    assert {path for path, _ in faults(either, [1, "x"])} == {"/x", "/x/1"}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("Infinity")])
def test_a_number_that_json_does_not_have_is_refused_wherever_it_hides(number):
    assert faults(untyped, {"a": [None, number]}) == [("/first/a/1", "JSON has no such number")]
    assert faults(sync_folder, SyncFolder(folder_id=FOLDER, raw=number)) == [("/raw", "JSON has no such number")]
    assert [path for path, _ in faults(optional_number, number)] == ["/number"]
    assert [path for path, _ in faults(optional_number, numbers={"a": number})] == ["/numbers/a"]


@pytest.mark.parametrize("text", ['{"first": NaN}', '{"first": [-Infinity]}'])
def test_a_number_that_json_does_not_have_is_not_read_either(text):
    with pytest.raises(PayloadInvalid, match="JSON has no NaN and no Infinity"):
        build(untyped).decode(text)


def test_a_number_that_json_does_not_have_is_not_read_from_a_text():
    with pytest.raises(PayloadInvalid, match="/number: Input should be a finite number"):
        build(optional_number).decode('{"number": "NaN"}')


def test_a_time_with_or_without_an_offset_fits_what_was_asked_for():
    checker = Checker(build(times).schema)
    here, there = "2026-01-01T00:00:00", "2026-01-01T00:00:00+01:00"
    assert checker.check({"naive": here, "aware": there, "either": [here, there]}) == ()
    assert [fault.path for fault in checker.check({"naive": there, "aware": here, "either": ["noon"]})] == [
        "/naive",
        "/aware",
        "/either/0",
    ]


def test_texts_about_numbers_that_are_none_are_texts():
    assert there_and_back(untyped, "NaN, Infinity and null") == {
        "first": "NaN, Infinity and null",
        "second": None,
        "third": [1, 2],
    }


def test_a_nul_is_refused_in_texts_and_keys():
    assert [path for path, _ in faults(untyped, ["a", "b\0"])] == ["/first/1"]
    assert [path for path, _ in faults(untyped, {"b\0": 1})] == ["/first/b\\u0000"]
    assert there_and_back(untyped, "a\\u0000")["first"] == "a\\u0000"


def endless():
    loop = []
    loop.append(loop)
    return loop


def deep():
    document = []
    for _ in range(5000):
        document = [document]
    return document


@pytest.mark.parametrize(
    "make",
    [lambda: "\ud800", object, lambda: b"\xff", endless, deep, lambda: 10**5000],
    ids=["surrogate", "object", "bytes", "endless", "deep", "number"],
)
def test_what_cannot_be_written_is_refused(make):
    assert len(faults(untyped, make())) == 1


def test_a_value_that_its_handler_would_not_get_back_is_refused():
    assert faults(lossy, Lossy(kept=1, lost=2)) == [("/lost", "it is missing")]


def test_a_secret_is_not_stored_as_asterisks():
    assert "asterisks" in faults(with_secret, SecretStr("hunter2"))[0][1]


@pytest.mark.parametrize("mapping", [{"folder_id": FOLDER}, {"folder_id": str(FOLDER)}])
@pytest.mark.parametrize("function", [sync_folder, strict])
def test_a_document_by_name_may_hold_what_python_has_or_what_json_has(function, mapping):
    payload = build(function)
    assert payload.decode(payload.encode_mapping(mapping)).kwargs["payload"].folder_id == FOLDER


def test_a_document_by_name_gets_its_defaults():
    assert json.loads(build(resize).encode_mapping({"image_id": 7})) == {"image_id": 7, "width": 800, "mode": "fit"}


@pytest.mark.parametrize(
    ("mapping", "path"),
    [
        ({}, "/image_id"),
        ({"image_id": 7, "widht": 3}, "/widht"),
        ({"image_id": math.nan}, "/image_id"),
        ({"image_id": 7, "width": math.inf}, "/width"),
        ({"image_id": object()}, ""),
        ({"image_id": "\ud800"}, ""),
    ],
)
def test_a_document_by_name_is_checked(mapping, path):
    with pytest.raises(PayloadInvalid) as caught:
        build(resize).encode_mapping(mapping)
    assert [fault.path for fault in caught.value.errors] == [path]


@pytest.mark.parametrize("value", [math.nan, "a\0"])
def test_a_document_by_name_holds_nothing_foreign(value):
    with pytest.raises(PayloadInvalid, match="/first/0: "):
        build(untyped).encode_mapping({"first": [value]})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"image_id": "x"}', '{"image_id": 7, "gone": 1}', "{NaN"])
def test_a_payload_that_no_longer_fits_is_refused_when_it_is_read(text):
    with pytest.raises(PayloadInvalid):
        build(resize).decode(text)


def test_a_payload_from_before_an_argument_was_added_gets_its_default():
    assert build(resize).decode('{"image_id": 7}').kwargs == {"image_id": 7, "width": 800, "mode": "fit"}


def test_every_call_has_a_default_of_its_own():
    def collect(into: list[int] = []): ...  # noqa: B006

    payload = build(collect)
    payload.decode("{}").kwargs["into"].append(1)
    assert payload.decode("{}").kwargs["into"] == []


def with_sync_context(context: SyncContext, x: int): ...
def with_own_context(c: MyContext, x: int): ...
def with_quoted_context(c: "laneway.Context", x: int): ...  # noqa: F821
def with_generic_context(c: "SyncContext[int]", x: int): ...
def by_name_alone(ctx, x: int): ...
def positional_context(ctx, /, x: int): ...
async def in_a_loop(ctx: Context, x: int) -> "Unknown": ...  # noqa: F821


@pytest.mark.parametrize(
    "function",
    [
        with_sync_context,
        with_own_context,
        with_quoted_context,
        with_generic_context,
        by_name_alone,
        positional_context,
        in_a_loop,
    ],
)
def test_a_context_is_no_part_of_the_payload(function):
    assert there_and_back(function, 7) == {"x": 7}


def any_number(*args): ...
def any_name(**kwargs): ...
def without_name(x, /): ...
def context_last(x: int, ctx): ...
def context_twice(ctx, other: Context): ...
def unknown_name(x: "list[Nowhere]"): ...  # noqa: F821
def no_expression(x: "1 +"): ...  # noqa: F722
def no_type(x: 5): ...
def opened(x: socket.socket): ...
def called(x: Callable[[], int]): ...
def wrong_default(x: int = "wide"): ...
def foreign_default(x=object()): ...  # noqa: B008
def wrong_constraint(x: Annotated[int, Field(gt="x")]): ...


class LookingAhead(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    name: Annotated[str, Field(pattern="(?=a)b")]


def looks_ahead(payload: LookingAhead): ...


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (any_number, 'argument "\\*args" takes any number'),
        (any_name, 'argument "\\*\\*kwargs" takes arguments of any name'),
        (without_name, "cannot be given by name"),
        (context_last, "Make the context the first argument"),
        (context_twice, "Make the context the first argument"),
        (unknown_name, '"Nowhere" of "x: list\\[Nowhere\\]" is not known in .*not under TYPE_CHECKING'),
        (no_expression, "an annotation cannot be read"),
        (no_type, "cannot be a payload"),
        (opened, "cannot be a payload"),
        (called, "cannot be a payload"),
        (wrong_default, 'default of argument "x": Input should be a valid integer'),
        (foreign_default, "is not JSON serializable"),
        (wrong_constraint, "cannot be a payload"),
        (looks_ahead, 'it is not a "regex"'),
    ],
)
def test_a_handler_that_no_document_can_be_handed_to_is_refused_with_its_name(function, said):
    with pytest.raises(DefinitionError, match=f"^job {__name__}.{function.__name__}: .*{said}") as caught:
        build(function)
    assert caught.value.hint
