"""Wave kernel signatures that see directions.

The wave kernel signature of a vertex measures its share in each band of frequencies. Under the
isotropic operator all vertices of a sphere have the same signature; anisotropic operators add the
directions of the surface. Signatures do not depend on the triangulation, so they can be used to
match meshes: here each vertex is matched to the nearest signature on a second mesh of the same
bumpy sphere, with one operator and with four. On a surface enlarged by s they are divided by s².
"""

import numpy as np
from scipy.spatial import cKDTree

import finsler
from finsler.view import Panel, save_figure

K, COUNT = 50, 20
mesh, other = finsler.primitives.bumpy_sphere(16), finsler.primitives.bumpy_sphere(13)


def signatures(mesh: finsler.TriMesh, angles: int) -> np.ndarray:
    """WKS of the LBO (angles = 0), or of the ALBO at several angles side by side."""
    if angles == 0:
        return finsler.wks(finsler.spectrum(finsler.lbo(mesh), k=K), count=COUNT)
    stack = finsler.angle_stack(mesh, alpha=3.0, tau=0.0, angles=angles)
    return finsler.wks([finsler.spectrum(operator, k=K) for operator in stack], count=COUNT)


ball = signatures(finsler.primitives.sphere(13), 0)
large = signatures(finsler.TriMesh(3.0 * other.vertices, other.faces), 0)
assert (ball.std(axis=0) / ball.mean(axis=0)).max() < 0.02  # a sphere has no landmarks
assert np.allclose(9.0 * large, signatures(other, 0), rtol=1e-6)

panels, far = [], []
for title, angles in (("LBO", 0), ("ALBO at four angles", 4)):
    goal, query = signatures(mesh, angles), signatures(other, angles)
    nearest = cKDTree(goal / goal.mean(axis=0)).query(query / goal.mean(axis=0))[1]
    error = np.linalg.norm(mesh.vertices[nearest] - other.vertices, axis=1)
    far.append(float((error > 0.2).mean()))
    panels.append(Panel(mesh, goal[:, COUNT // 2], f"{title}, one band"))
    panels.append(Panel(other, error, "error of nearest signature", clim=(0.0, 1.0)))
print(f"nearest signature more than 0.2 off: LBO {100 * far[0]:.1f}%, ALBO {100 * far[1]:.1f}%")
assert far[1] < 0.5 * far[0]
save_figure("anisotropic_wks.png", [panels], share_range=False, colorbars=False)
