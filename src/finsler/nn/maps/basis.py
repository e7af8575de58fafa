"""The eigenfunctions of a shape as tensors, at all its vertices or at some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from finsler.data.store import PreparedShape
from finsler.errors import InputError


@dataclass(frozen=True, eq=False)
class MapBasis:
    """Eigenfunctions of the LBO of one shape of area 1, and where soft maps look at them.

    Attributes
    ----------
    values : (k,)
        Eigenvalues, ascending.
    vectors : (n, k)
        Φ with Φᵀ S Φ = I.
    mass : (n,)
        The diagonal of S.
    points : (m,) int64
        Vertices that take part in soft maps.
    weights : (m,)
        Their areas.
    there, inverse : (m, k), (k, m)
        Φ at these points, and its least-squares inverse in these weights.
    """

    values: Tensor
    vectors: Tensor
    mass: Tensor
    points: Tensor
    weights: Tensor
    there: Tensor
    inverse: Tensor

    @classmethod
    def of(cls, shape: PreparedShape, k: int, *, points: int = 0) -> MapBasis:
        """The first k functions of a prepared shape; `points` vertices drawn by area, 0 for all.

        Raises
        ------
        InputError
            The shape was prepared with fewer eigenpairs.
        """
        if len(shape.eigenvalues) < k:
            raise InputError(
                f"shape {shape.name} was prepared with {len(shape.eigenvalues)} eigenpairs, and"
                f" {k} are needed; prepare with --eigenpairs {k}, or lower maps_basis"
            )
        vectors, mass = shape.eigenvectors[:, :k].astype(np.float64), shape.mass.astype(np.float64)
        if 0 < points < len(mass):
            rng = np.random.default_rng(0)
            chosen = np.sort(rng.choice(len(mass), points, replace=False, p=mass / mass.sum()))
            weights = np.full(points, mass.sum() / points)
        else:
            chosen, weights = np.arange(len(mass)), mass
        weighted = vectors[chosen] * weights[:, None]
        inverse = np.linalg.lstsq(weighted.T @ vectors[chosen], weighted.T, rcond=None)[0]
        return cls(
            torch.as_tensor(shape.eigenvalues[:k], dtype=torch.float32),
            torch.as_tensor(vectors, dtype=torch.float32),
            torch.as_tensor(mass, dtype=torch.float32),
            torch.as_tensor(chosen),
            torch.as_tensor(weights, dtype=torch.float32),
            torch.as_tensor(vectors[chosen], dtype=torch.float32),
            torch.as_tensor(inverse, dtype=torch.float32),
        )

    @property
    def k(self) -> int:
        """Number of functions."""
        return len(self.values)

    def coefficients(self, functions: Tensor) -> Tensor:
        """Φᵀ S f, (k, c), of functions (n, c)."""
        return self.vectors.T @ (self.mass[:, None] * functions)

    def to(self, device: torch.device | str) -> MapBasis:
        """The same on a device."""
        return replace(self, **{name: tensor.to(device) for name, tensor in vars(self).items()})
