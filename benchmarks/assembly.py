"""How fast are frames and the eight-angle stack, against what else one could do?

Compared in one run: eight separate COO assemblies of the same operators (what a straightforward
port of the paper does), one libigl `cotmatrix`, one anisotropic LaPy assembly. Also what the FLBO
costs over the ALBO, and the price of the bounds on the largest eigenvalue.

    python benchmarks/assembly.py [--sizes 5000 50000 500000 1000000]
"""

from __future__ import annotations

import argparse
from typing import Any

import igl
import lapy
import numpy as np
from scipy import sparse

import finsler
from common import median_time, peak_memory_gib, print_table, save
from finsler import FaceFrames, TriMesh, primitives

ALPHA, TAU, ANGLES = 10.0, 0.1, 8


def eight_coo_assemblies(mesh: TriMesh, frames: FaceFrames) -> list[sparse.csr_array]:
    """Per angle: tensors, weights, triplets, matrix; the plain numpy way."""
    gradients = finsler.mesh.hat_gradients(mesh)
    areas = finsler.mesh.face_areas(mesh)
    rows = np.repeat(mesh.faces, 3, axis=1).ravel()
    columns = np.tile(mesh.faces, (1, 3)).ravel()
    shape = (mesh.n_vertices, mesh.n_vertices)
    matrices = []
    for theta in np.pi * np.arange(ANGLES) / ANGLES:
        turned = frames.rotated(float(theta))
        axes = np.stack([turned.u_max, turned.u_min], axis=1)
        local = np.einsum("fai,fci->fac", axes, gradients)
        scale = np.array([1.0 / (1.0 + ALPHA), 1.0]) / (1.0 - TAU**2 / (1.0 + ALPHA))
        values = np.einsum("f,a,fac,fad->fcd", areas, scale, local, local, optimize=True)
        matrices.append(sparse.csr_array((values.ravel(), (rows, columns)), shape))
    return matrices


def measure(size: int) -> dict[str, Any]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    repeats = 7 if size <= 50_000 else 3
    frames = finsler.principal_frames(mesh)
    triangles = lapy.TriaMesh(mesh.vertices, mesh.faces)
    factors = np.tile([1.0, 1.0 / (1.0 + ALPHA)], (mesh.n_faces, 1))

    def ours() -> finsler.AngleStack:
        return finsler.angle_stack(mesh, alpha=ALPHA, tau=TAU, angles=ANGLES, frames=frames)

    stack = ours()
    memory = peak_memory_gib()
    times = {
        "frames": median_time(lambda: finsler.principal_frames(mesh), 1),
        "stack": median_time(ours, repeats),
        "coo": median_time(lambda: eight_coo_assemblies(mesh, frames), 1),
        "igl": median_time(lambda: igl.cotmatrix(mesh.vertices, mesh.faces), repeats),
        "lapy": median_time(
            lambda: lapy.Solver._fem_tria_aniso(triangles, frames.u_min, frames.u_max, factors), 1
        ),
        "albo": median_time(lambda: finsler.albo(mesh, alpha=ALPHA, frames=frames), repeats),
        "flbo": median_time(
            lambda: finsler.flbo(mesh, alpha=ALPHA, tau=TAU, frames=frames), repeats
        ),
    }
    for matrix, laplacian in zip(eight_coo_assemblies(mesh, frames), stack, strict=True):
        difference = abs(matrix - laplacian.stiffness).max() / abs(matrix).max()
        assert difference < 1e-10, "the two ways must give the same matrices"
    # What writing the values costs if nothing else did: the floor of any method.
    times["copy"] = median_time(lambda: stack.values.copy(), repeats)
    return {"vertices": mesh.n_vertices, "nonzeros": len(stack.indices), "memory": memory, **times}


def bounds(size: int) -> dict[str, Any]:
    mesh = primitives.bumpy_sphere(round((size / 10) ** 0.5))
    laplacian = finsler.albo(mesh, alpha=ALPHA)
    half = 1.0 / np.sqrt(laplacian.mass)
    matrix = sparse.csr_array(
        laplacian.stiffness.multiply(half[:, None]).multiply(half[None, :]).tocsr()
    )
    out: dict[str, Any] = {"vertices": mesh.n_vertices}
    for bound in ("converged", "lanczos", "gershgorin"):
        out[bound] = median_time(lambda b=bound: finsler.largest_eigenvalue(matrix, bound=b), 3)  # type: ignore[misc]
        out[f"{bound}_value"] = finsler.largest_eigenvalue(matrix, bound=bound)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 50_000, 500_000, 1_000_000])
    sizes = parser.parse_args().sizes
    results = [measure(size) for size in sizes]
    print_table(
        "Eight-angle FLBO stack: milliseconds, and ratios in this run",
        [
            "vertices",
            "frames",
            "stack",
            "8 COO / stack",
            "stack / igl",
            "LaPy x8 / stack",
            "stack / copy",
            "FLBO / ALBO",
            "peak GiB",
        ],
        [
            (
                r["vertices"],
                1e3 * r["frames"],
                1e3 * r["stack"],
                r["coo"] / r["stack"],
                r["stack"] / r["igl"],
                8 * r["lapy"] / r["stack"],
                r["stack"] / r["copy"],
                r["flbo"] / r["albo"],
                r["memory"],
            )
            for r in results
        ],
    )
    print("stack / copy: against one copy of its values, the floor for anything that writes them.")
    limits = [bounds(size) for size in sizes if size <= 500_000]
    print_table(
        "Bounds on the largest eigenvalue: cost against a converged one, and excess in %",
        ["vertices", "converged ms", "lanczos x", "excess %", "gershgorin x", "excess %"],
        [
            (
                r["vertices"],
                1e3 * r["converged"],
                r["converged"] / r["lanczos"],
                100 * (r["lanczos_value"] / r["converged_value"] - 1),
                r["converged"] / r["gershgorin"],
                100 * (r["gershgorin_value"] / r["converged_value"] - 1),
            )
            for r in limits
        ],
    )
    save("assembly", {"stack": results, "bounds": limits})


if __name__ == "__main__":
    main()
