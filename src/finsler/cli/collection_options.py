"""How a collection is named on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from finsler.data.sets.opening import FORMS

COLLECTION_HELP = f"A folder whose layout is recognised, a packed file, or one of {FORMS}."

CollectionName = Annotated[str, typer.Argument(metavar="COLLECTION", help=COLLECTION_HELP)]
