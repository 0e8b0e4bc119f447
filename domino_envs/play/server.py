"""The web server: one page, its files, and requests that each bring the game along."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..games import game_names, get_game
from .document import Forged
from .hints import hint
from .rules import RULES
from .service import Server
from .session import Conflict, Session
from .views import view_of

__all__ = ["make_app"]

_LARGEST_REQUEST = 1 << 19
_LOCAL = ("localhost", "127.0.0.1", "::1", "testserver")
_FILES = {
    "": ("index.html", "text/html"),
    "app.js": ("app.js", "text/javascript"),
    "style.css": ("style.css", "text/css"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

Data = Mapping[str, Any]


def make_app(server: Server, defaults: Mapping[str, Any] | None = None) -> Starlette:
    """Return the application.

    Args:
        server: what the games need.
        defaults: settings that the page starts with: ``game``, ``opponent``, ``episode``, ``seat``, ``clock``.
    """
    setup = {"games": _games(server), "defaults": dict(defaults or {})}

    def session(data: Data) -> Session:
        return server.open(data.get("document"))

    def show(found: Session, data: Data, **more: Any) -> dict[str, Any]:
        return view_of(
            server,
            found,
            theme=data.get("theme", "light"),
            layout=data.get("layout", "wide"),
            at=data.get("at"),
            **more,
        )

    def new(data: Data) -> dict[str, Any]:
        wanted = {key: value for key, value in data.items() if key not in ("theme", "layout")}
        unknown = wanted.keys() - {"game", "opponent", "parameters", "episode", "seat", "opener", "clock"}
        if unknown:
            raise ValueError(f"unknown setting {min(unknown)!r}")
        for name in ("game", "opponent"):
            if name not in wanted:
                raise ValueError(f"{name!r} is missing")
        return show(server.new(**wanted), data)

    def give_hint(data: Data) -> dict[str, Any]:
        found = session(data)
        server.check_hint(found)
        return show(found, data, hint=hint(found.game, found.states))

    calls: dict[str, Callable[[Data], dict[str, Any]]] = {
        "new": new,
        "view": lambda data: show(server.resumed(session(data)), data),
        "load": lambda data: show(server.load(data.get("document")), data),
        "start": lambda data: show(server.start(session(data)), data),
        "move": lambda data: show(server.move(session(data), data.get("action")), data),
        "reply": lambda data: show(server.reply(session(data)), data),
        "flag": lambda data: show(server.flag(session(data)), data),
        "undo": lambda data: show(server.undo(session(data)), data),
        "hint": give_hint,
    }

    async def call(request: Request) -> Response:
        action = calls.get(request.path_params["name"])
        if action is None:
            raise HTTPException(404, "there is no such request")
        data = await _read(request)
        try:
            return JSONResponse(await run_in_threadpool(action, data))
        except Conflict as error:
            raise HTTPException(409, str(error)) from error
        except Forged as error:
            raise HTTPException(403, str(error)) from error
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    async def page(request: Request) -> Response:
        file = _FILES.get(request.path_params.get("file", ""))
        if file is None:
            raise HTTPException(404, "there is no such page")
        name, kind = file
        return Response((files(__package__) / "static" / name).read_bytes(), media_type=kind)

    async def tell(request: Request) -> Response:
        return JSONResponse(setup)

    routes = [
        Route("/", page),
        Route("/api/setup", tell),
        Route("/api/{name}", call, methods=["POST"]),
        Route("/{file}", page),
    ]
    return Starlette(routes=routes, middleware=[Middleware(_Guard)], exception_handlers={HTTPException: _say_why})


class _Guard:
    """Turns away what does not come from a page of this server, and adds headers that keep pages to themselves.

    Other web sites can send requests to a server on loopback, also by a name of theirs that leads there; the headers
    ``Host`` and ``Origin`` tell.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        foreign = urlsplit(f"//{host}").hostname not in _LOCAL or (origin and urlsplit(origin).netloc != host)

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        if foreign:
            refusal = JSONResponse({"error": "this server answers only pages of its own"}, status_code=403)
            await refusal(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)


def _games(server: Server) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": get_game(name).title,
            "episodes": list(get_game(name).episodes),
            "opponents": list(server.opponents[name]),
            "parameters": {"hand_size": list(range(2, 11))} if "hand_size" in get_game(name).parameters else {},
            "defaults": {"hand_size": get_game(name).parameters.get("hand_size")},
            "rules": RULES.get(name, []),
        }
        for name in game_names()
        if server.opponents.get(name)
    ]


async def _read(request: Request) -> Data:
    """Return the JSON object of a request's body."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "the request must be application/json")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST_REQUEST:
            raise HTTPException(413, f"the request is larger than {_LARGEST_REQUEST} bytes")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, f"the request is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise HTTPException(400, "the request must be a JSON object")
    return data


async def _say_why(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": error.detail}, status_code=error.status_code, headers=error.headers)
