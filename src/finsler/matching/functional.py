"""Functional maps between two bases, and vertex maps from them.

Throughout, map_12 sends the vertices of surface 1 to vertices of surface 2, and the functional map
C, (k_1, k_2), pulls functions back along it: it takes the coefficients of f on surface 2 to those
of f ∘ map_12 on surface 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.matching.nearest import nearest_rows
from finsler.typing import FloatArray, IntArray


def functional_map(
    coefficients_1: FloatArray,
    coefficients_2: FloatArray,
    eigenvalues_1: FloatArray,
    eigenvalues_2: FloatArray,
    *,
    commutativity: float = 1.0,
) -> FloatArray:
    """The map C that preserves descriptors and nearly commutes with the Laplacians.

    Minimises ‖C B − A‖² / d + commutativity · Σ_ij C_ij² (λ_i − μ_j)² k / Λ², with A (k_1, d) and
    B (k_2, d) the coefficients of d descriptors, λ and μ the eigenvalues, Λ the largest of them
    and k = k_1: each row of C is a linear system of its own (Ovsjanikov et al. 2012).

    Examples
    --------
    >>> values = np.array([0.0, 1.0, 2.0])
    >>> functional_map(np.eye(3), np.eye(3)[::-1].T, values, values, commutativity=0.0).round(3)
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    a, b = coefficients_1, coefficients_2
    k, d = a.shape
    scale = max(eigenvalues_1[-1], eigenvalues_2[-1])
    penalty = (eigenvalues_1[:, None] - eigenvalues_2[None, :]) ** 2 / scale**2
    gram = b @ b.T / d
    ridge = 1e-9 * np.trace(gram) / len(gram)
    systems = np.repeat(gram[None], k, axis=0)
    diagonal = np.arange(len(gram))
    systems[:, diagonal, diagonal] += commutativity * penalty / k + ridge
    right = (a @ b.T / d)[:, :, None]
    return np.asarray(np.linalg.solve(systems, right)[:, :, 0])


def pull_back(
    map_12: IntArray, basis_1: FloatArray, basis_2: FloatArray, weights: FloatArray
) -> FloatArray:
    """The functional map C of a vertex map: least squares Φ_1 C ≈ Φ_2[map_12], (k_1, k_2).

    `weights` (n_1,) are areas. Where basis_1 is orthonormal in them, C = Φ_1ᵀ S_1 Φ_2[map_12]; on
    a sample of the vertices it need not be.
    """
    return project(basis_2[map_12], basis_1, weights)


def project(values: FloatArray, basis: FloatArray, weights: FloatArray) -> FloatArray:
    """Coefficients (k, c) of functions (n, c) in a basis (n, k), by weighted least squares."""
    weighted = basis * weights[:, None]
    gram = weighted.T @ basis
    ridge = 1e-9 * np.trace(gram) / len(gram) * np.eye(len(gram))
    return np.asarray(np.linalg.solve(gram + ridge, weighted.T @ values))


def vertex_map(
    functional: FloatArray,
    basis_1: FloatArray,
    basis_2: FloatArray,
    *,
    features_1: NDArray[np.floating] | None = None,
    features_2: NDArray[np.floating] | None = None,
    weight: float = 0.0,
) -> IntArray:
    """The vertex of surface 2 for each vertex of surface 1: nearest to Φ_1(x) among C Φ_2(y).

    With features and a weight w the distance is |Φ_1(x) − C Φ_2(y)|²/k_1 + w² |f_1(x) − f_2(y)|².
    The adjoint map, from 2 to 1, is that of the same embedding; see `embeddings`.
    """
    here, there = embeddings(functional, basis_1, basis_2, features_1, features_2, weight)
    return nearest_rows(here, there)


def embeddings(
    functional: FloatArray,
    basis_1: FloatArray,
    basis_2: FloatArray,
    features_1: NDArray[np.floating] | None = None,
    features_2: NDArray[np.floating] | None = None,
    weight: float = 0.0,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Points (n_1, d) and (n_2, d) that lie close together where vertices correspond."""
    k_1, k_2 = functional.shape
    if k_1 > basis_1.shape[1] or k_2 > basis_2.shape[1]:
        raise InputError(
            f"the functional map is {k_1} × {k_2}, but the bases have {basis_1.shape[1]} and"
            f" {basis_2.shape[1]} functions; compute more of them"
        )
    here = basis_1[:, :k_1] / np.sqrt(k_1)
    there = basis_2[:, :k_2] @ (functional.T / np.sqrt(k_1))
    if weight > 0.0 and features_1 is not None and features_2 is not None:
        here = np.hstack([here, weight * features_1])
        there = np.hstack([there, weight * features_2])
    return here, there
