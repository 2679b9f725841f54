"""The page about the settings, made from the variables themselves; `make docs` writes it."""

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
    for name, field in Variables.model_fields.items():
        yield f"| `{variable(name)}` | {_default(field)} | {field.description} |\n"


def _default(field: FieldInfo) -> str:
    extra: Any = field.json_schema_extra or {}
    if shown := extra.get("shown"):
        return str(shown)
    if isinstance(field.default, bool):
        return "on" if field.default else "off"
    return f"`{field.default}`" if field.default not in ("", (), None) else "none"


if __name__ == "__main__":
    print(page(), end="")
