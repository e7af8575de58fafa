"""Pages of the gallery: every script is run when the site is built, so no picture can be old."""

from mkdocs.structure.files import File
from scripts import NAMES, run

INTRODUCTION = """# Gallery

Small scripts, each with a picture and a number that it asserts. They need nothing but the package:
the shapes are made on the spot. The pictures are drawn when this site is built, and the tests run
every script.

<div class="grid cards" markdown>

"""


def on_files(files, config):
    """Add a page and a picture for each script, and the page that shows them all."""
    cards = []
    for name in NAMES:
        outcome = run(name)
        page = _page(name, outcome)
        files.append(File.generated(config, f"gallery/{name}.md", content=page))
        image = f"gallery/images/{name}.png"
        files.append(File.generated(config, image, content=outcome.picture))
        cards.append(
            f"-   [![](images/{name}.png)]({name}.md)\n\n    [{outcome.title}]({name}.md)\n"
        )
    index = INTRODUCTION + "\n".join(cards) + "\n</div>\n"
    files.append(File.generated(config, "gallery/index.md", content=index))
    return files


def _page(name, outcome):
    return f"""# {outcome.title}

{outcome.text}

![{outcome.title}](images/{name}.png)

```text title="It prints"
{outcome.output.rstrip()}
```

```python title="{name}.py"
{outcome.code}
```

[Download {name}.py]({name}.py)
"""
