"""The JSON Schema of a payload (2020-12): all that `encode` writes fits it, in every door and language that checks.

pydantic's own says less than it writes or more than others can check: formats that its values do not keep (RFC 3339
wants an offset, RFC 3339 durations have no fractions), and patterns that look ahead, which bounded engines refuse.
"""

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, JsonSchemaWarningKind
from pydantic_core import core_schema

from laneway.document import walk
from laneway.errors import DefinitionError

__all__ = ["PayloadSchema", "has_secrets"]

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_DURATION = (
    r"^[+-]?P(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+W)?(?:[0-9]+D)?"
    r"(?:T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]{1,6})?S)?)?$"
)


class PayloadSchema(GenerateJsonSchema):
    """pydantic's generator with what was said above."""

    def field_title_should_be_set(self, schema: object) -> bool:
        # "Image Id" beside image_id says nothing, and every schema travels with every sync
        del schema
        return False

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        if kind == "non-serializable-default":
            raise DefinitionError(f"schema: {detail}", field="schema", hint="Use a default that JSON can hold.")

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return _with_local(super().datetime_schema(schema), schema.get("tz_constraint"), f"^{_DATE}T{_TIME}$")

    def time_schema(self, schema: core_schema.TimeSchema) -> JsonSchemaValue:
        return _with_local(super().time_schema(schema), schema.get("tz_constraint"), f"^{_TIME}$")

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> JsonSchemaValue:
        made = super().timedelta_schema(schema)
        return {"type": "string", "pattern": _DURATION} if made.get("format") == "duration" else made

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> JsonSchemaValue:
        # of 2.12 and 2.13: it looks ahead, and knows no 1E+5
        made = super().decimal_schema(schema)
        for option in made.get("anyOf", []):
            if option.get("type") == "string":
                option.pop("pattern", None)
        return made


def _with_local(made: JsonSchemaValue, constraint: object, pattern: str) -> JsonSchemaValue:
    """Times without an offset are written without one."""
    local: JsonSchemaValue = {"type": "string", "pattern": pattern}
    match constraint:
        case "naive":
            return local
        case None:
            return {"anyOf": [made, local]}
        case _:
            return made


def has_secrets(schema: object) -> bool:
    """Whether some value is one that pydantic writes as asterisks."""
    return any(path[-1:] == ("writeOnly",) and value is True for path, value in walk(schema))
