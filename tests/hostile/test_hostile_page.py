"""The page and those who are not it: raw requests, names of hosts, paths, forged choices."""

import http.client
import socket

import pytest

from finsler.errors import InputError
from finsler.mesh import primitives
from finsler.view.web import Page, Scene
from finsler.view.web.controls import Controls
from finsler.view.web.server import is_allowed

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def page():
    with Page(Scene(primitives.sphere(2))) as page:
        yield page


def answer(page, request):
    """The first line of what comes back on raw bytes, b"" where the connection is just closed."""
    port = int(page.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        try:
            return connection.recv(4096).partition(b"\r\n")[0]
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1@elsewhere.org",
        "elsewhere.org@127.0.0.1",
        "127.0.0.1/elsewhere.org",
        "127.0.0.1#elsewhere.org",
        "127.0.0.1?elsewhere.org",
        "127.0.0.1:80:80",
        "127.0.0.1:elsewhere",
        "127.0.0.1 ",
        " 127.0.0.1",
        "127.0.0.1\nelsewhere.org",
        "2130706433",
        "0x7f.0.0.1",
        "127.1",
        "127.0.0.1.",
        "localhost.",
        "[::1]elsewhere.org",
        "[fe80::1%eth0]",
        "::1",
        "[]",
        "1" * 10_000,
    ],
)
def test_hosts_that_only_look_like_numbers(host):
    assert not is_allowed(host, None, websocket=False)
    assert not is_allowed(host, f"http://{host}", websocket=True)


PATHS = [
    "/../_viser.py",
    "/..%2f..%2f_viser.py",
    "/%252e%252e/_viser.py",
    "/..\\..\\_viser.py",
    "/%5c..%5c..%5c_viser.py",
    "/assets/../../../_viser.py",
    "//etc/passwd",
    "/%2fetc/passwd",
    "/etc/passwd%00.html",
    "/proc/self/environ",
    "/" + "a" * 3000,
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out_of_the_page(page, path):
    host = page.url.removeprefix("http://")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert b"200" not in answer(page, request.encode())


@pytest.mark.parametrize(
    "request_text",
    [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: elsewhere.org\r\nHost: {host}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nHost: elsewhere.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nOrigin: http://x.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc",
        "PUT /index.html HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc",
        "GET http://elsewhere.org/ HTTP/1.1\r\nHost: elsewhere.org\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n\r\n",
        "\x00\x01\x02\x03\r\n\r\n",
    ],
)
def test_requests_that_no_browser_of_the_page_makes(page, request_text):
    text = request_text.format(host=page.url.removeprefix("http://"), long="x" * 100_000)
    assert b"200" not in answer(page, text.encode())
    port = int(page.url.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/")
    assert connection.getresponse().status == 200, "the page is still served"
    connection.close()


@pytest.mark.parametrize("version", [b"13", b"12", b""])
@pytest.mark.parametrize("upgrade", [b"websocket", b"WebSocket", b"WEBSOCKET"])
def test_no_spelling_of_a_foreign_websocket_is_let_in(page, upgrade, version):
    host = page.url.removeprefix("http://").encode()
    request = (
        b"GET / HTTP/1.1\r\nHost: " + host + b"\r\nUpgrade: " + upgrade + b"\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        b"Sec-WebSocket-Version: " + version + b"\r\n"
    )
    for origin in (b"", b"Origin: http://elsewhere.org\r\n", b"Origin: null\r\n"):
        assert b"403" in answer(page, request + origin + b"\r\n")


class Handle:
    """A control that a client has set to anything."""

    def __init__(self, value):
        self.value, self.visible = value, True

    def on_update(self, act):
        self.act = act


class Gui:
    """Makes controls, and remembers them by their words."""

    def __init__(self):
        self.made = {}

    def _add(self, label, value):
        self.made[label] = Handle(value)
        return self.made[label]

    def add_dropdown(self, label, options, initial_value=None, **_):
        return self._add(label, initial_value or options[0])

    def add_slider(self, label, least, largest, step, value, **_):
        return self._add(label, value)

    def add_checkbox(self, label, value, **_):
        return self._add(label, value)

    def add_image(self, image, label, **_):
        return self._add(label, image)

    def add_markdown(self, text):
        return self._add("words", text)

    def add_button(self, label):
        return self._add(label, None)


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("order", 10**9),
        ("order", -1),
        ("alpha", float("nan")),
        ("alpha", float("inf")),
        ("tau", -1.0),
        ("theta", 1e300),
        ("peak", 1.0),
        ("log10 time", 400.0),
        ("omega", "__class__"),
        ("Show", "\x1b[31m" * 100),
    ],
)
def test_choices_that_the_page_does_not_offer(label, value):
    gui = Gui()
    controls = Controls(gui, Scene(primitives.sphere(2)), changed=lambda: None)
    assert controls.settings((0,)).order == 5
    gui.made[label].value = value
    with pytest.raises(InputError, match=r"must lie in|is not among") as caught:
        controls.settings((0,))
    assert str(caught.value).isprintable()
