"""The page that is served: one session for each browser that looks at it."""

from __future__ import annotations

import io
import ipaddress
import webbrowser
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

from finsler.view.web.camera import OPENING, show_all
from finsler.view.web.outputs import Outputs
from finsler.view.web.scene import Scene
from finsler.view.web.server import start_server
from finsler.view.web.session import Session
from finsler.view.web.worker import Worker

if TYPE_CHECKING:
    import viser

_NO_FILES = Outputs()


class Page:
    """A scene in the browser, until it is stopped; browsers do not see each other's choices.

    Parameters
    ----------
    scene : Scene
    host : str
        A numeric address of this machine. Other machines can look too where it is not 127.0.0.1.
    port : int
        0 takes a free one.
    outputs : Outputs
        The files to which visitors may write a map and landmarks; by default none.

    Raises
    ------
    InputError
        An address that cannot be listened on, or viser is not installed.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        outputs: Outputs = _NO_FILES,
    ) -> None:
        self.scene = scene
        self._outputs = outputs
        self.sessions: dict[int, Session] = {}
        self._server = start_server(host, port)
        self._worker = Worker()
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        # The panel stands beside the picture, never over a mesh.
        self._server.gui.main_panel.dock_right()
        self._server.scene.set_up_direction("+y")
        self._server.scene.configure_default_lights(cast_shadow=False)
        self._set_camera()
        self._server.on_client_connect(self._enter)
        self._server.on_client_disconnect(self._leave)

    @property
    def url(self) -> str:
        """Where the page is."""
        host = self._server.get_host()
        shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
        bracketed = f"[{shown}]" if ":" in shown else shown
        return f"http://{bracketed}:{self._server.get_port()}"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can look."""
        return ipaddress.ip_address(self._server.get_host()).is_loopback

    def open(self) -> None:
        """Show the page in the user's browser."""
        webbrowser.open(self.url)

    def stop(self) -> None:
        """End the sessions and free the port."""
        for session in list(self.sessions.values()):
            session.end()
        self._worker.stop()
        with redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _set_camera(self) -> None:
        camera = self._server.initial_camera
        camera.fov = OPENING
        show_all(camera, self.scene)
        camera.up = self.scene.layout.camera.up

    def _enter(self, client: viser.ClientHandle) -> None:
        def submit(kind: str, job: Callable[[], None]) -> None:
            self._worker.submit((client.client_id, kind), job)

        self.sessions[client.client_id] = Session(self.scene, client, submit, self._outputs)

    def _leave(self, client: viser.ClientHandle) -> None:
        session = self.sessions.pop(client.client_id, None)
        if session is not None:
            session.end()
