"""The address of a narrowed list: what was chosen, without what was left empty."""

from django.http import HttpRequest, QueryDict


def chosen(request: HttpRequest) -> str:
    wanted = QueryDict(mutable=True)
    for name, value in request.GET.items():
        if value and name != "v":
            wanted[name] = str(value)
    return f"{request.path}?{wanted.urlencode(safe='/')}" if wanted else request.path
