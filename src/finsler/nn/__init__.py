"""Torch side: what needs gradients or an accelerator."""

from finsler.nn.assembly import (
    assemble_torch,
    randers_diffusivity,
    rescale_torch,
    strength_operators,
)
from finsler.nn.cheb_conv import AnisotropicChebConv
from finsler.nn.geometry import MeshGeometry
from finsler.nn.loss import classification_loss
from finsler.nn.network import CorrespondenceNet, SmallNet
from finsler.nn.operators import OperatorStack
from finsler.nn.recurrence import chebyshev, clenshaw
from finsler.nn.shot import shot_torch
from finsler.nn.sparse import TorchLaplacian, laplacian_to_torch, matrix_to_torch
from finsler.nn.spectra import spectra_torch, spectrum_torch
from finsler.nn.zoomout import zoomout_torch

__all__ = [
    "AnisotropicChebConv",
    "CorrespondenceNet",
    "MeshGeometry",
    "OperatorStack",
    "SmallNet",
    "TorchLaplacian",
    "assemble_torch",
    "chebyshev",
    "classification_loss",
    "clenshaw",
    "laplacian_to_torch",
    "matrix_to_torch",
    "randers_diffusivity",
    "rescale_torch",
    "shot_torch",
    "spectra_torch",
    "spectrum_torch",
    "strength_operators",
    "zoomout_torch",
]
