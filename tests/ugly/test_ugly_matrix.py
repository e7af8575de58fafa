"""Every public entry on every ugly mesh does what is written here.

`.` works, `w` works and names the defect in a warning, `r` is refused with one sentence, `?` is one
of the last two: rounding decides, and versions of scipy differ. When a change here is wanted,
`python tests/ugly/ugly_matrix.py` prints the new table.
"""

import pytest
from ugly_entries import ENTRIES, SLOW
from ugly_matrix import SIGNS, outcome
from ugly_meshes import MESHES

EXPECTED = """
.......................................... clean
...wwwwwwwwwwwwww.rr.wwww.wwrw.....wwww.w. fin on an edge
...wwwwwwwwwwwwww.rr.wwww.wwrwr....wwww.w. 40 fins
...wwwwrwwwwwwwww.rr.wwww.wwrw.rr..wwww.w. book of 3 pages
...wwwwrwwwwwwwww.rr.wwww.wwrw.rr..wwww.w. book of 7 pages
.....wwwwwwwwwwww.rr.w..w.ww.w.....wwww.w. 2 spheres touching
.....wwwwwwwwwwww.rr.w..w.ww.w.rr..wwww.w. 5 spheres touching
.......................................... touching fingers
.......................................... closed mouth
.......r.................................. coincident sheets
.......................................... doubled skin
.......................................... thin plate
...rrrrrrrrrrrrrrrrrrrrrr.rrrr.....rrrrrr. corner repeated
...rrrrrrrrrrrrrrrrrrrrrr.rrrr.....rrrrrr. face on a line
...rrrrrrrrrrrrrrrrrrrrrr.rrrr.....rrrrrr. 20 faces on lines
.......................................... needle 1e-3
.......................................... needle 1e-5
..w..wwwwwwwwwwww....w..w.ww.ww....wwww.w. needle 1e-7
..w..wwwwwwwwwwww....?..w.ww.ww....wwww.w. needle 1e-9
..w..wwwwwwwrrwrr....w..r.rr.rr....wwrw.w. needle 1e-11
..w..wwwwwwwwwwww..r.w..w.ww.wwww..wwww.w. 5 needles 1e-7
...wwwwwwwwwwwwww.rr.wwww.wwrw.....wwww.w. face twice
...wwwwwwwwwwwwww.rr.wwww.wwrw.....wwww.w. face and its back
...wwwwrwwwwwwwww.rr.wwww.wwrw.rr..wwww.w. all faces twice
...rrrrrrrrrrrrrrrrrrrrrr.rrrr.....rrrrrr. vertex without face
...rrrrrrrrrrrrrrrrrrrrrr.rrrr.....rrrrrr. 100 vertices without face
...ww.wwwwww.ww.w.....w..w..rw.....wwww.ww face turned over
...ww.wwwwww.ww.w.....w..w..rw.....wwww.ww half turned over
.......................................... inside out
...ww.wwwwww.ww.w.....w..w..rww....wwww.ww moebius band
.......................................... hemisphere
.....wwwwwwwwwwww.rr.w..w.ww.w.....wwww.w. 10% of the faces gone
.....wwwwwwwwwwww.rr.w..w.ww.wrrr..wwww.w. half of the faces gone
.......r.................................. plane
.......r....................r.rrr......... one triangle
.......................................... two spheres crossing
.......................................... crosses itself
......................w.......rrr......... 200 tetrahedra
.......................................... sphere and 100 crumbs
.......r.......................rr......... no shared vertices
.......................................... doubled vertices
.......................................... unit 1e-12
.......................................... unit 1e12
.......................................... far away
.......................................... whole numbers
rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr NaN
rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr 9 infinities
...wwwwwwwwwwwwww.rr.wwwwwwwrw.....wwww.ww usable mixture
...rrrrrrrrrrrrrrrrrrrrrrwrrrr.....rrrrrrw everything, unit 1e-12
"""
ROWS = dict(reversed(line.split(" ", 1)) for line in EXPECTED.strip().splitlines())
ALLOWED = {"?": "wr"}
# The meshes that slow entries are tried on; the script tries all.
FEW = ("clean", "fin on an edge", "face turned over", "vertex without face", "usable mixture")


def test_the_table_is_complete():
    assert list(ROWS) == list(MESHES)
    assert {len(row) for row in ROWS.values()} == {len(ENTRIES)}
    assert set("".join(ROWS.values())) == {".", "w", "r", "?"}


@pytest.mark.parametrize("name", list(MESHES))
def test_outcomes(name):
    expected = dict(zip(ENTRIES, ROWS[name], strict=True))
    tried = [entry for entry in ENTRIES if entry not in SLOW or name in FEW]
    result = {entry: outcome(name, entry) for entry in tried}
    wrong = {
        entry: (expected[entry], SIGNS[cell.kind], cell.words)
        for entry, cell in result.items()
        if SIGNS[cell.kind] not in ALLOWED.get(expected[entry], expected[entry])
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("fin on an edge", "lbo", "1 edge with more than two faces"),
        ("40 fins", "operator", "40 edges with more than two faces"),
        ("2 spheres touching", "spectrum", "1 vertex that joins separate fans"),
        ("needle 1e-9", "heat", "1 face that is thinner than 1e-6"),
        ("all faces twice", "flbo", "320 duplicate faces"),
        ("face turned over", "frames", "3 edges between oppositely oriented faces"),
        ("corner repeated", "lbo", "face 320 has no area"),
        ("100 vertices without face", "angles", "(100 such vertices)"),
        ("NaN", "lbo", "vertex 5 is not finite"),
        ("face turned over", "support", "lies between faces of opposite orientation"),
        ("fin on an edge", "geodesic exact", "has more than two faces"),
        ("5 spheres touching", "geodesic fmm", "joins separate fans"),
        ("needle 1e-11", "spectrum", "needle-like faces"),
    ],
)
def test_the_defect_is_named(name, entry, words):
    assert any(words in sentence for sentence in outcome(name, entry).words)
