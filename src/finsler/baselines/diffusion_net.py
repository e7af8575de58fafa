"""DiffusionNet (Sharp, Attaiki, Crane, Ovsjanikov, ACM TOG 2022), written from the paper.

What many would pick for learning on meshes; here to be compared in the same harness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from finsler.errors import InputError
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.operator.gradients import vertex_gradients

if TYPE_CHECKING:
    from finsler.data.store import PreparedShape


@one_line("eigenvalues", "mass")
@dataclass(frozen=True, eq=False)
class SpectralDomain:
    """Bases and gradients of one or several shapes side by side.

    Attributes
    ----------
    eigenvalues, eigenvectors, mass : tuples of (k,), (n_i, k), (n_i,)
        Of the LBO of each shape.
    rows, columns : (p,) int64
        Pairs of a vertex and a neighbour, numbered through all shapes.
    gradient : (2, p)
        ∇f at a vertex, in its tangent plane, is Σ_j gradient_j (f_j − f_i).
    """

    eigenvalues: tuple[Tensor, ...]
    eigenvectors: tuple[Tensor, ...]
    mass: tuple[Tensor, ...]
    rows: Tensor
    columns: Tensor
    gradient: Tensor

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of vertices of each shape."""
        return tuple(len(mass) for mass in self.mass)

    @classmethod
    def of(cls, shape: PreparedShape) -> SpectralDomain:
        """Of a shape prepared with eigenpairs."""
        if len(shape.eigenvalues) == 0:
            raise InputError(
                f"shape {shape.name} was prepared without eigenpairs; prepare the collection again"
                " with some, e.g. finsler prepare --eigenpairs 128"
            )
        mesh = TriMesh(shape.vertices, shape.faces)
        rows, columns, gradient = vertex_gradients(mesh)
        return cls(
            (torch.tensor(shape.eigenvalues, dtype=torch.float32),),
            (torch.tensor(shape.eigenvectors),),
            (torch.tensor(shape.mass),),
            torch.from_numpy(rows),
            torch.from_numpy(columns),
            torch.from_numpy(gradient).float(),
        )

    @classmethod
    def batch(cls, domains: Sequence[SpectralDomain]) -> SpectralDomain:
        """Several shapes side by side; they do not see each other."""
        first = np.cumsum([0, *(sum(domain.sizes) for domain in domains)]).tolist()
        return cls(
            tuple(part for domain in domains for part in domain.eigenvalues),
            tuple(part for domain in domains for part in domain.eigenvectors),
            tuple(part for domain in domains for part in domain.mass),
            torch.cat([domain.rows + o for domain, o in zip(domains, first, strict=False)]),
            torch.cat([domain.columns + o for domain, o in zip(domains, first, strict=False)]),
            torch.cat([domain.gradient for domain in domains], dim=1),
        )

    def to(self, device: torch.device | str) -> SpectralDomain:
        """The same on a device."""
        return SpectralDomain(
            tuple(part.to(device) for part in self.eigenvalues),
            tuple(part.to(device) for part in self.eigenvectors),
            tuple(part.to(device) for part in self.mass),
            self.rows.to(device),
            self.columns.to(device),
            self.gradient.to(device),
        )


class LearnedTimeDiffusion(nn.Module):
    """Each channel diffuses for a time of its own, in the eigenbasis: Φ e^{−λt} Φᵀ S x."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.time = nn.Parameter(torch.full((channels,), 1e-3))

    def forward(self, x: Tensor, domain: SpectralDomain) -> Tensor:
        """(n, c) of x (n, c); times are kept positive, their sign has no meaning."""
        # Sums over all vertices: too long for half precision.
        with torch.autocast(x.device.type, enabled=False):
            parts = zip(
                torch.split(x.to(self.time.dtype), list(domain.sizes)),
                domain.eigenvalues,
                domain.eigenvectors,
                domain.mass,
                strict=True,
            )
            spread = [
                basis
                @ (torch.exp(-torch.outer(values, self.time.abs())) * (basis.T @ (mass * y.T).T))
                for y, values, basis, mass in parts
            ]
            return torch.cat(spread)


class GradientFeatures(nn.Module):
    """tanh⟨∇x_c, (A ∇x)_c⟩ with A complex: products of gradients that no tangent axis changes."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.real = nn.Linear(channels, channels, bias=False)
        self.imaginary = nn.Linear(channels, channels, bias=False)

    def forward(self, x: Tensor, domain: SpectralDomain) -> Tensor:
        """(n, c) of x (n, c)."""
        step = x.index_select(0, domain.columns) - x.index_select(0, domain.rows)
        along, across = (
            torch.zeros_like(x).index_add(0, domain.rows, weight[:, None] * step)
            for weight in domain.gradient
        )
        real = self.real(along) - self.imaginary(across)
        imaginary = self.real(across) + self.imaginary(along)
        return torch.tanh(along * real + across * imaginary)


class DiffusionBlock(nn.Module):
    """Diffusion, gradient features, and a perceptron at each vertex, with a shortcut around."""

    def __init__(self, channels: int, dropout: float) -> None:
        super().__init__()
        self.diffusion = LearnedTimeDiffusion(channels)
        self.gradients = GradientFeatures(channels)
        self.perceptron = nn.Sequential(
            nn.Linear(3 * channels, channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(channels, channels),
        )

    def forward(self, x: Tensor, domain: SpectralDomain) -> Tensor:
        """(n, c) of x (n, c)."""
        spread = self.diffusion(x, domain)
        features = [x, spread, self.gradients(spread, domain)]
        out: Tensor = x + self.perceptron(torch.cat(features, dim=1))
        return out


class DiffusionNet(nn.Module):
    """DiffusionNet that names, for each vertex, a vertex of the reference.

    A linear layer, four blocks of 128 channels, then the head that all networks here share: a
    linear layer of 256 with ReLU and dropout, and one logit for each vertex of the reference.

    Shapes: features (n, in_channels), result (n, classes).

    Examples
    --------
    >>> net = DiffusionNet(3, 10, channels=8, blocks=1)
    >>> sum(parameter.numel() for parameter in net.parameters()) > 1000
    True
    """

    def __init__(
        self,
        in_channels: int,
        classes: int,
        *,
        channels: int = 128,
        blocks: int = 4,
        hidden: int = 256,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if blocks < 1:
            raise InputError(f"blocks is {blocks}; at least 1 is needed")
        self.first = nn.Linear(in_channels, channels)
        self.blocks = nn.ModuleList(DiffusionBlock(channels, dropout) for _ in range(blocks))
        self.head = nn.Sequential(nn.Linear(channels, hidden), nn.ReLU(), nn.Dropout(dropout))
        self.classifier = nn.Linear(hidden, classes)

    def hidden(self, features: Tensor, domain: SpectralDomain) -> Tensor:
        """What the classifier reads, (n, hidden), of features (n, in_channels)."""
        if len(features) != sum(domain.sizes):
            raise InputError(
                f"features has {len(features)} rows, but the shapes have {sum(domain.sizes)}"
                " vertices"
            )
        x = self.first(features)
        for block in self.blocks:
            x = block(x, domain)
        out: Tensor = self.head(x)
        return out

    def forward(self, features: Tensor, domain: SpectralDomain) -> Tensor:
        """Logits (n, classes) of features (n, in_channels)."""
        logits: Tensor = self.classifier(self.hidden(features, domain))
        return logits
