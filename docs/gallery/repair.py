"""Repairing an ugly mesh, with a count of every change.

A sphere is damaged: vertices doubled, faces turned over, one face repeated, one without area, a
stray vertex. `health` lists the defects and their effects, and `repair` removes them and reports
every change. Afterwards the operator is that of the sphere, and a second repair changes nothing.
"""

import numpy as np

import finsler
from finsler.view import Panel, save_figure

sphere = finsler.primitives.sphere(12)
faces = sphere.faces.copy()
faces[::7] = faces[::7, ::-1]  # turned over
doubled = np.arange(0, 300, 3)
copies = sphere.n_vertices + np.arange(len(doubled))
for old, new in zip(doubled, copies, strict=True):
    face = int(np.argmax((faces == old).any(axis=1)))
    faces[face] = np.where(faces[face] == old, new, faces[face])  # a crack
faces = np.concatenate([faces, faces[5:6], [[0, 1, 1]]])
points = np.concatenate([sphere.vertices, sphere.vertices[doubled], [[9.0, 9.0, 9.0]]])
ugly = finsler.TriMesh(points, faces)

for problem in finsler.health(ugly).problems:
    print("-", problem)
repaired = finsler.repair(ugly)
print("repair:", repaired.changes)
assert repaired.mesh.n_vertices == sphere.n_vertices and repaired.mesh.n_faces == sphere.n_faces
assert finsler.health(repaired.mesh).genus == 0
assert finsler.repair(repaired.mesh).changes == dict.fromkeys(repaired.changes, 0)

eigenvalues = finsler.spectrum(finsler.lbo(repaired.mesh), k=9).eigenvalues
exact = finsler.spectrum(finsler.lbo(sphere), k=9).eigenvalues
assert np.allclose(eigenvalues, exact, atol=1e-8)
try:
    finsler.lbo(ugly)
except finsler.InputError as error:
    print("refused:", error)
else:
    raise AssertionError("a mesh with a stray vertex has no Laplacian")

signs = np.ones(ugly.n_vertices)
signs[ugly.faces[:-2][::7].ravel()] = -1.0
shown = finsler.TriMesh(points[:-1], ugly.faces[:-2])
panels = [
    Panel(shown, signs[:-1], "before: faces turned over"),
    Panel(
        repaired.mesh, finsler.spectrum(finsler.lbo(repaired.mesh), k=9).eigenvectors[:, 6], "after"
    ),
]
save_figure("repair.png", [panels], share_range=False, colorbars=False, panel_size=(2.2, 2.2))
