"""A program that calls the API in tests."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from runs.accounts import tokens, users
from runs.domain.values.actors import Role, Scope

Json = dict[str, Any]


class Program:
    """Calls with a token of its own, or without any."""

    def __init__(self, secret: str = "") -> None:
        self._client = Client(raise_request_exception=False)
        self._secret = secret

    @property
    def environ(self) -> dict[str, Any]:
        """What the server in front of Django adds to each of its calls."""
        environ: dict[str, Any] = self._client.defaults
        return environ

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, **query: Any
    ) -> HttpResponse:
        return self._client.get(f"/api/v1{path}", query, headers=self._headers(headers))  # type: ignore[return-value]

    def post(
        self, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        return self._client.post(  # type: ignore[return-value]
            f"/api/v1{path}",
            {} if body is None else body,
            content_type="application/json",
            headers=self._headers(headers),
        )

    def delete(self, path: str) -> HttpResponse:
        return self._client.delete(f"/api/v1{path}", headers=self._headers(None))  # type: ignore[return-value]

    def _headers(self, more: Mapping[str, str] | None) -> dict[str, str]:
        own = {"Authorization": f"Bearer {self._secret}"} if self._secret else {}
        return {**own, **(more or {})}


def account(name: str, role: Role) -> User:
    return users.create(name, role=role)


def program(scope: Scope, user: User | None = None, name: str = "") -> Program:
    _, secret = tokens.create(name or f"{scope.value}-token", scope=scope, user=user)
    return Program(secret)


def error_of(response: HttpResponse) -> Json:
    document: Json = response.json()  # type: ignore[attr-defined]
    assert set(document) == {"error"}
    error: Json = document["error"]
    assert set(error) == {"code", "message", "details"}
    return error


def body_of(response: HttpResponse) -> Json:
    assert response.status_code < 300, response.content
    document: Json = response.json()  # type: ignore[attr-defined]
    return document
