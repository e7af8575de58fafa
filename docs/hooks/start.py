"""The commands of start.md are run when the site is built; their pictures go into the page."""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.structure.files import File

PAGE = Path(__file__).parents[1] / "start.md"


def on_files(files, config):
    """Add the pictures."""
    for name, content in pictures().items():
        files.append(File.generated(config, f"start/{name}", content=content))
    return files


def pictures():
    """Name and content of each picture that the commands of the page draw."""
    blocks = re.findall(r"```sh\n(finsler .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with TemporaryDirectory() as folder:
        subprocess.run(
            ["sh", "-ec", "".join(blocks)],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return {
            picture.name: picture.read_bytes() for picture in sorted(Path(folder).glob("*.png"))
        }
