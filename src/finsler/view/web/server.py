"""A viser server that answers its own pages only.

A page of another site that is open in the same browser can reach a server on this machine, directly
or by giving its own name this machine's address (DNS rebinding). So a request must name the server
by a number or as localhost, and a websocket, which carries the shapes, must come from the page that
the server itself has sent. viser has no setting for this; its handshakes are checked by wrapping
the function of `websockets` that it starts its server with.
"""

from __future__ import annotations

import io
import ipaddress
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from finsler.errors import InputError

if TYPE_CHECKING:
    import viser
    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request, Response

# A number or localhost, and a port: no user, path or blank beside them.
_HOST = re.compile(r"(localhost|[0-9.]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")


def start_server(host: str, port: int) -> viser.ViserServer:
    """Serve on an address of this machine; port 0 takes a free one.

    Raises
    ------
    InputError
        The host is no address of this machine, the port is taken, or viser is not installed.
    """
    address = checked_address(host)
    _require_free(address, port)
    try:
        import viser
    except ImportError as error:
        raise InputError("the page needs viser; pip install finsler[view]") from error

    class LocalServer(viser.ViserServer):
        """A server that no page can make public through viser's share service."""

        def request_share_url(self, verbose: bool = True) -> str | None:
            return None

    with redirect_stdout(io.StringIO()), _checked_handshakes() as started:
        server = LocalServer(host=address, port=port, label="finsler", verbose=False)
    if not started:
        server.stop()
        raise RuntimeError("this version of viser starts its server unchecked; install another")
    return server


def checked_address(host: str) -> str:
    """The numeric address to listen on."""
    if host == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host))
    except ValueError as error:
        raise InputError(
            f"the host is {host!r}; it must be localhost or a numeric address of this machine, such"
            " as 127.0.0.1"
        ) from error


def is_allowed(host: str, origin: str | None, *, websocket: bool) -> bool:
    """Whether a request's Host and Origin headers are those of the server's own page.

    Examples
    --------
    >>> is_allowed("127.0.0.1:8080", "http://127.0.0.1:8080", websocket=True)
    True
    >>> is_allowed("127.0.0.1:8080", "http://elsewhere.org", websocket=True)
    False
    >>> is_allowed("elsewhere.org:8080", "http://elsewhere.org:8080", websocket=True)
    False
    """
    own_page = not websocket if origin is None else origin == f"http://{host}"
    return own_page and _is_numeric(host)


def _is_numeric(host: str) -> bool:
    parts = _HOST.fullmatch(host)
    if parts is None:
        return False
    try:
        return parts[1] == "localhost" or bool(ipaddress.ip_address(parts[1].strip("[]")))
    except ValueError:
        return False


@contextmanager
def _checked_handshakes() -> Iterator[list[Any]]:
    """While this lasts, servers of `websockets` check who asks; lists those started."""
    from websockets.asyncio import server

    plain, started = server.serve, []

    def serve(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def checked(connection: ServerConnection, request: Request) -> Response | None:
            headers = request.headers
            websocket = headers.get("Upgrade", "").lower() == "websocket"
            if is_allowed(headers.get("Host", ""), headers.get("Origin"), websocket=websocket):
                response: Response | None = process_request(connection, request)
                return response
            return connection.respond(403, "Open the page by its numeric address.\n")

        started.append(plain(*arguments, process_request=checked, **options))
        return started[-1]

    server.serve = serve  # type: ignore[misc, assignment]
    try:
        yield started
    finally:
        server.serve = plain  # type: ignore[misc]


def _require_free(address: str, port: int) -> None:
    """Raise where the port is taken; viser would take another, or wait forever."""
    if not 0 <= port < 65536:
        raise InputError(f"the port is {port}; it must lie in 0..65535, where 0 takes a free one")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.create_server((address, port), family=family).close()
    except OSError as error:
        raise InputError(
            f"cannot listen on {address}, port {port} ({error.strerror}); choose another port, or"
            " an address of this machine"
        ) from error
