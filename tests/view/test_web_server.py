"""Who may look at the page: hosts, origins, paths, ports."""

import http.client
import socket
import sys

import pytest

from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.view.web import Page, Scene
from finsler.view.web.server import is_allowed

viser = pytest.importorskip("viser")
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402


@pytest.fixture(scope="module")
def page():
    with Page(Scene(primitives.sphere(3))) as page:
        yield page


def port_of(page):
    return int(page.url.rpartition(":")[2])


def status(page, path="/", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port_of(page), timeout=10)
    connection.request("GET", path, headers={"Connection": "close", **headers})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def handshake(page, origin, host=None):
    """Whether a websocket is let in that names the page's host so and comes from this origin."""
    where = page.url.removeprefix("http://")
    headers = {} if origin is None else {"Origin": origin}
    with socket.create_connection(("127.0.0.1", port_of(page))) as sock:
        try:
            with connect(
                f"ws://{host or where}/",
                sock=sock,
                additional_headers=headers,
                subprotocols=[f"viser-v{viser.__version__}"],
                compression=None,
            ):
                return True
        except InvalidStatus as refusal:
            return refusal.response.status_code != 403


@pytest.mark.parametrize(
    ("host", "origin", "websocket", "expected"),
    [
        ("127.0.0.1:80", "http://127.0.0.1:80", True, True),
        ("[::1]:80", "http://[::1]:80", True, True),
        ("localhost:9000", "http://localhost:9000", True, True),
        ("192.168.1.7:80", "http://192.168.1.7:80", True, True),
        ("127.0.0.1:80", None, False, True),
        ("127.0.0.1:80", None, True, False),
        ("127.0.0.1:80", "http://127.0.0.1:81", True, False),
        ("127.0.0.1:80", "https://127.0.0.1:80", True, False),
        ("127.0.0.1:80", "null", True, False),
        ("127.0.0.1:80", "http://elsewhere.org", False, False),
        ("elsewhere.org:80", "http://elsewhere.org:80", True, False),
        ("elsewhere.org:80", None, False, False),
        ("localhost.elsewhere.org:80", None, False, False),
        ("127.0.0.1.elsewhere.org", None, False, False),
        ("", None, False, False),
        ("[::1", None, False, False),
    ],
)
def test_hosts_and_origins(host, origin, websocket, expected):
    assert is_allowed(host, origin, websocket=websocket) is expected


def test_the_page_is_served_under_its_own_name_alone(page):
    assert status(page) == 200
    assert status(page, Host="elsewhere.org") == 403
    assert status(page, Origin="http://elsewhere.org") == 403


def test_a_websocket_is_let_in_from_the_page_alone(page):
    assert handshake(page, page.url)
    assert not handshake(page, "http://elsewhere.org")
    assert not handshake(page, None)
    rebound = f"elsewhere.org:{port_of(page)}"
    assert not handshake(page, f"http://{rebound}", host=rebound)


@pytest.mark.parametrize(
    "path", ["/../../../_viser.py", "/%2e%2e/%2e%2e/_viser.py", "/etc/passwd", "//etc/passwd"]
)
def test_nothing_else_is_served(page, path):
    assert status(page, path) == 404


def test_no_page_can_make_the_server_public(page, monkeypatch):
    monkeypatch.setattr("viser._viser.ViserTunnel", None)
    assert page._server.request_share_url() is None


def test_listening_begins_and_ends_with_the_page():
    with Page(Scene(primitives.sphere(2))) as page:
        port = port_of(page)
        assert page.url == f"http://127.0.0.1:{port}" and page.is_private
        with pytest.raises(InputError, match=f"port {port}"):
            Page(Scene(primitives.sphere(2)), port=port)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_addresses_that_cannot_be_served_on_are_refused():
    scene = Scene(primitives.sphere(2))
    with pytest.raises(InputError, match="numeric address"):
        Page(scene, host="example.org")
    # Reserved for documentation: no machine has it.
    with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1"):
        Page(scene, host="192.0.2.1")
    with pytest.raises(InputError, match=r"0\.\.65535"):
        Page(scene, port=70000)


def test_localhost_is_the_loopback_address():
    with Page(Scene(primitives.sphere(2)), host="localhost") as page:
        assert page.url.startswith("http://127.0.0.1:")


def test_without_viser_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(InputError, match=r"pip install finsler\[view\]"):
        Page(Scene(primitives.sphere(2)))
