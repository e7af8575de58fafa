"""Torch side: what needs gradients or an accelerator."""

from finsler.nn.shot import shot_torch
from finsler.nn.sparse import TorchLaplacian, laplacian_to_torch, matrix_to_torch

__all__ = ["TorchLaplacian", "laplacian_to_torch", "matrix_to_torch", "shot_torch"]
