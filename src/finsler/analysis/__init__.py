"""What operators are for: spectra and heat."""

from finsler.analysis.heat import heat_kernel
from finsler.analysis.spectrum import Spectrum, spectrum

__all__ = ["Spectrum", "heat_kernel", "spectrum"]
