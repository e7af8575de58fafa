"""What matching computes of one surface, on an accelerator: basis, histograms, learned features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from finsler.analysis.spectrum import Spectrum, spectrum
from finsler.descriptors.directed import DirectedDomain
from finsler.descriptors.learned import FeatureModel
from finsler.errors import ConvergenceError, InputError
from finsler.mesh.trimesh import TriMesh
from finsler.nn.maps.directed_net import DirectedNet, DirectedTensors
from finsler.nn.shot import shot_torch
from finsler.nn.spectra import spectrum_torch
from finsler.operator.laplacian import Laplacian

# Vertices above which the dense inverse costs more than the sparse solver.
_MOST = 20_000


class Accelerator:
    """Computes on a device of torch what [`describe`][finsler.describe] does on the processor.

    Results are equal up to rounding; a neighbour on the border of two bins may change bins.

    Parameters
    ----------
    device : str
        "cuda", "cuda:1", or "cpu" to compute with torch there.

    Raises
    ------
    InputError
        Torch finds no such device.
    """

    def __init__(self, device: str) -> None:
        try:
            self.device = torch.device(device)
        except RuntimeError as error:
            raise InputError(f"device is {device!r}; it must be cpu or cuda") from error
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise InputError(f"device is {device!r}, but torch finds no such device here; use cpu")

    def spectrum(self, laplacian: Laplacian, k: int) -> Spectrum:
        """The k smallest eigenpairs; of fine meshes by the sparse solver of the processor."""
        if len(laplacian.mass) > _MOST:
            return spectrum(laplacian, k)
        try:
            return spectrum_torch(laplacian, k, device=self.device)
        except ConvergenceError:
            return spectrum(laplacian, k)

    def shot(self, mesh: TriMesh, radius: float) -> NDArray[np.float32]:
        """SHOT of a mesh, (n, 352)."""
        vertices, faces = self._moved(mesh.vertices), self._moved(mesh.faces)
        return np.asarray(shot_torch(vertices, faces, radius).float().cpu().numpy())

    @torch.no_grad()
    def features(
        self,
        model: FeatureModel,
        mesh: TriMesh,
        spectrum: Spectrum,
        histograms: NDArray[np.float32],
    ) -> NDArray[np.float32]:
        """As `FeatureModel.features`."""
        domain = DirectedDomain.of(mesh, spectrum)
        inputs = model.inputs(mesh, spectrum, histograms, domain)
        network = DirectedNet(
            inputs.shape[1],
            model.size,
            channels=len(model.weights["first.bias"]),
            blocks=model.blocks,
        )
        weights = {name: torch.from_numpy(array) for name, array in model.weights.items()}
        network.load_state_dict(weights)
        network.to(self.device)
        tensors = DirectedTensors.of(domain, self.device)
        return np.asarray(network(self._moved(inputs), tensors).cpu().numpy())

    def _moved(self, array: NDArray[np.generic]) -> Tensor:
        return torch.tensor(array, device=self.device)
