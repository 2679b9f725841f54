"""The page about the settings, from the variables themselves."""

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo

from faber_site.configuration.variables import Variables, variable

_HEAD = """\
# Settings

All settings are optional environment variables. An invalid value stops the start with one line that
names the variable, the value and the accepted values. An unknown variable that starts with `FABER_`
gives a warning with the nearest name. Steps inherit the environment without the site's secrets.

| name | default | meaning |
|---|---|---|
"""


def page() -> str:
    return _HEAD + "".join(_rows())


def _rows() -> Iterator[str]:
    # A class comes after those it builds on; whoever reads wants the usual ones first.
    own = Variables.__annotations__
    for name in sorted(Variables.model_fields, key=lambda each: each not in own):
        field = Variables.model_fields[name]
        yield f"| `{variable(name)}` | {_default(field)} | {field.description} |\n"


def _default(field: FieldInfo) -> str:
    extra: Any = field.json_schema_extra or {}
    if shown := extra.get("shown"):
        return str(shown)
    if isinstance(field.default, bool):
        return "on" if field.default else "off"
    return f"`{field.default}`" if field.default not in ("", (), None) else "none"
