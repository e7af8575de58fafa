"""A page in the browser: click a vertex and see its kernels and distances, live.

`Scene` is what is shown, with numpy only; `Page` serves it and needs viser (`pip install
finsler[view]`), which is imported when a page is made.
"""

from finsler.view.web.outputs import Outputs
from finsler.view.web.page import Page
from finsler.view.web.scene import Scene
from finsler.view.web.settings import Settings, Shown

__all__ = ["Outputs", "Page", "Scene", "Settings", "Shown"]
