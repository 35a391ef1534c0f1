"""Who may talk to the window: who knows its address, and pages of that address only.

Other users of the machine can reach a server on loopback: so every path begins with a random token.
A page from elsewhere could reach it by a name that points to 127.0.0.1 (DNS rebinding) or open a
websocket to it from its own origin.  Viser checks none of these.  The guard stands between viser
and the websockets package: it refuses such requests before viser sees them, sends the page under a
content security policy, and closes a connection that sends malformed messages.
"""

from __future__ import annotations

import logging
import math
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from importlib import import_module
from typing import Any

from sixfold.errors import NotApplicableError, visible

NAMES = ("127.0.0.1", "localhost", "[::1]")
POLICY = "; ".join(
    (
        "default-src 'none'",
        # the page of viser is one file, which unpacks its own script; only its splats want eval
        "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:",
        "worker-src blob:",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",
        "media-src data: blob:",
        "font-src data:",
        "connect-src 'self' {sockets} data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_UNDERSTOOD = 1007  #: Closing code of a websocket for data that is not what it should be.

_log = logging.getLogger("sixfold.display.viewer")
_one_at_a_time = threading.Lock()


def refusal(port: int, hosts: list[str], origins: list[str]) -> str:
    """Return why a request is refused, nothing if it may pass.

    Args:
        port: the port that the server listens on.
        hosts: the values of the header Host: there must be one, with that port.
        origins: the values of the header Origin, which browsers send with every websocket; programs
            that are no browsers send none.
    """
    # names of this machine with the port; browsers leave port 80 out
    near = {f"{name}:{port}" for name in NAMES} | (set(NAMES) if port == 80 else set())
    if len(hosts) != 1 or hosts[0].lower() not in near:
        return "the header Host names another server"
    if len(origins) > 1 or any(origin.lower() not in _http(near) for origin in origins):
        return "the header Origin names another page"
    return ""


class Keys:
    """The token of a window's address, and a ticket that leads to it once.

    The command line of a browser can be read by all users of a machine.  So a browser is started
    with the ticket, which is worth nothing after the first request.
    """

    def __init__(self) -> None:
        """Draw both."""
        self.token = secrets.token_urlsafe(18)
        self._ticket: str | None = None

    def address(self, port: int, key: str = "") -> str:
        """Return where the page is; with a ticket instead of the token, for one request."""
        return f"http://127.0.0.1:{port}/{key or self.token}/"

    def new_ticket(self) -> str:
        """Return a ticket; those before lose their worth."""
        self._ticket = secrets.token_urlsafe(18)
        return self._ticket

    def inside(self, path: str) -> str | None:
        """Return a path without the token that it has to begin with, None if it does not."""
        # /token/rest?query becomes /rest?query
        first, _, rest = path.removeprefix("/").partition("/")
        key, mark, query = first.partition("?")
        if not path.startswith("/") or not _equal(key, self.token):
            return None
        return f"/{rest}{mark}{query}"

    def spend(self, path: str) -> bool:
        """Return whether a path is that of the ticket, and cancel it then."""
        if self._ticket is None or not _equal(path.strip("/"), self._ticket):
            return False
        self._ticket = None
        return True


def _equal(one: str, other: str) -> bool:
    """Compare in a time that tells nothing of how much is right."""
    return secrets.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _http(hosts: set[str]) -> set[str]:
    return {f"http://{host}" for host in hosts}


@contextmanager
def guard_server() -> Iterator[Keys]:
    """Guard the server that viser starts inside the `with`; yield the keys to it.

    Raises:
        NotApplicableError: if viser did not start it by way of the guard.
    """
    # viser takes the package from this module: put the guard in its place meanwhile
    infra: Any = import_module("viser.infra._infra")
    with _one_at_a_time:
        real = infra.websockets
        # one window at a time: the module is shared by all
        keys = Keys()
        watched = _Websockets(real, keys)
        infra.websockets = watched
        try:
            yield keys
        finally:
            infra.websockets = real
    if not watched.serves:
        version = getattr(import_module("viser"), "__version__", "")
        fix = "pip install 'viser>=1.0,<2'"
        raise NotApplicableError("view", f"viser {version}, which cannot be guarded", fix)


class _Overlay:
    """A module with some names of our own."""

    def __init__(self, module: Any, **own: Any) -> None:
        self._module = module
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Websockets(_Overlay):
    """The package websockets, but for `asyncio.server.serve`."""

    def __init__(self, real: Any, keys: Keys) -> None:
        self.serves = 0
        self.keys = keys
        server = _Overlay(real.asyncio.server, serve=self._serve)
        super().__init__(real, asyncio=_Overlay(real.asyncio, server=server))

    def _serve(
        self, handler: Any, host: Any, port: Any, *, process_request: Any, **options: Any
    ) -> Any:
        # counted, so that a viser which starts its server in another way is noticed
        self.serves += 1
        serve = self._module.asyncio.server.serve
        answer = _check_requests(process_request, self.keys)
        return serve(_skip_bad_messages(handler), host, port, process_request=answer, **options)


def _check_requests(answer: Callable[[Any, Any], Any], keys: Keys) -> Callable[[Any, Any], Any]:
    """Return the function that answers requests: refusals first, then viser, under a policy."""

    def respond(connection: Any, request: Any) -> Any:
        port = int(connection.local_address[1])
        headers = request.headers
        why = refusal(port, headers.get_all("Host"), headers.get_all("Origin"))
        # refuse other hosts and origins; exchange a ticket; ask for the token
        path = keys.inside(request.path)
        if not why and path is None and keys.spend(request.path):
            moved = connection.respond(HTTPStatus.FOUND, "")
            moved.headers["Location"] = f"/{keys.token}/"
            return _add_policy(moved, port)
        if path is None and not why:
            why = "the address has no valid token: open the one that the program printed"
        if why:
            return _add_policy(connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n"), port)
        response = answer(connection, replace(request, path=path))
        return None if response is None else _add_policy(response, port)

    return respond


def _add_policy(response: Any, port: int) -> Any:
    """Return the response with the policy that binds the page."""
    # a policy cannot name an address in brackets; 'self' stands for it
    sockets = " ".join(f"ws://{name}:{port}" for name in NAMES if "[" not in name)
    for name, value in {
        "Content-Security-Policy": POLICY.format(sockets=sockets),
        **HEADERS,
    }.items():
        response.headers[name] = value
    return response


def _skip_bad_messages(
    handler: Callable[[Any], Awaitable[None]],
) -> Callable[[Any], Awaitable[None]]:
    """Return a handler that ignores malformed messages, and closes the connection when it fails."""
    messages = import_module("viser._messages")

    async def quiet(connection: Any) -> None:
        # messages are checked before viser gets them; malformed ones are skipped
        receive = connection.recv

        async def sensible(*options: Any) -> Any:
            while True:
                raw = await receive(*options)
                try:
                    check(messages.Message.deserialize(raw))
                    return raw
                except Exception as error:
                    log_not_understood(error)

        connection.recv = sensible
        try:
            await handler(connection)
        except Exception as error:
            log_not_understood(error)
            await connection.close(NOT_UNDERSTOOD, "a message that is not understood")

    return quiet


def check(message: Any) -> None:
    """Refuse numbers that are not finite, and a control of which more than the value is set.

    Raises:
        ValueError: if it is one of these.
    """
    updates = getattr(message, "updates", {"value": None})
    if not isinstance(updates, dict) or updates.keys() != {"value"}:
        raise ValueError(f"{type(message).__name__} sets more than a value")
    # walk nested containers without recursion
    waiting = list(vars(message).values())
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{type(message).__name__} has a number that is not finite")


def log_not_understood(error: BaseException) -> None:
    """Log that a message was malformed."""
    _log.debug("a message was not understood: %s", visible(f"{type(error).__name__}: {error}"))


def log_errors_quietly(server: Any) -> None:
    """Let messages that viser cannot use end in the log of this package, without a traceback."""
    loop = server._websock_server._background_event_loop

    def handle(loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, Exception):
            log_not_understood(error)
        else:
            loop.default_exception_handler(context)

    loop.call_soon_threadsafe(loop.set_exception_handler, handle)
