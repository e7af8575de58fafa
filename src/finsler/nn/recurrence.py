"""Sums of Chebyshev polynomials of operators, and their gradients.

Two linear maps and their derivatives are all that the convolution needs:

- `clenshaw`: (y_sθ) ↦ Σ_θ Σ_s T_s(L̂_θ) y_sθ, with iterates b_s = y_s + 2 L̂ b_{s+1} − b_{s+2};
- `chebyshev`: x ↦ (T_s(L̂_θ) x), with z_{s+1} = 2 L̂ z_s − z_{s−1}.

Each is the adjoint of the other with L̂ᵀ in place of L̂. The gradient for the entry (i, j) of L̂_θ
is Σ_s c_s ⟨b_{s+1}, z_s⟩ over the channels, c_0 = 1 and c_s = 2 otherwise, one of b and z taken at
i and one at j.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from finsler.errors import InputError
from finsler.nn.operators import OperatorStack
from finsler.nn.sparse import sorted_coo

BACKENDS = ("auto", "compiled", "triton", "torch")


def clenshaw(y: Tensor, operators: OperatorStack, *, backend: str = "auto") -> Tensor:
    """Σ_θ Σ_s T_s(L̂_θ) y_sθ, (n, c), of y (n, S, a, c).

    Parameters
    ----------
    y : (n, S, a, c)
        float32 or float64; on an accelerator also bfloat16, which then is how iterates are stored
        (sums and the result are float32).
    operators : OperatorStack
    backend : {"auto", "compiled", "triton", "torch"}
        By default compiled code on processors, Triton on CUDA devices, and elsewhere torch's sparse
        matrices.
    """
    chosen = _chosen(backend, y)
    apply = cast(Any, _Clenshaw).apply
    return cast(Tensor, apply(y, operators.values, operators, chosen))


def chebyshev(
    x: Tensor,
    operators: OperatorStack,
    orders: int,
    *,
    backend: str = "auto",
    dtype: torch.dtype | None = None,
) -> Tensor:
    """T_s(L̂_θ) x, (n, S, a, c), of x (n, c); `dtype` is what it is stored in."""
    chosen = _chosen(backend, x)
    kept = x.dtype if dtype is None else dtype
    apply = cast(Any, _Chebyshev).apply
    return cast(Tensor, apply(x, operators.values, operators, orders, chosen, kept))


class _Clenshaw(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, y: Tensor, values: Tensor, operators: OperatorStack, backend: str
    ) -> Tensor:
        ctx.operators, ctx.backend, ctx.orders, ctx.dtype = operators, backend, y.shape[1], y.dtype
        learned = ctx.needs_input_grad[1]
        out, states = _clenshaw(y, operators, values, backend, keep=learned)
        ctx.save_for_backward(values, *([states] if learned else []))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        values, *states = ctx.saved_tensors
        operators = ctx.operators
        turned = values[:, operators.transpose]
        z = _chebyshev(grad.contiguous(), operators, turned, ctx.orders, ctx.backend, ctx.dtype)
        of_values = _values_gradient(operators, z, states[0], z_in_rows=True) if states else None
        return z if ctx.needs_input_grad[0] else None, of_values, None, None


class _Chebyshev(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        values: Tensor,
        operators: OperatorStack,
        orders: int,
        backend: str,
        dtype: torch.dtype,
    ) -> Tensor:
        z = _chebyshev(x.contiguous(), operators, values, orders, backend, dtype)
        ctx.operators, ctx.backend, ctx.dtype = operators, backend, x.dtype
        ctx.save_for_backward(values, *([z] if ctx.needs_input_grad[1] else []))
        return z

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        values, *basis = ctx.saved_tensors
        operators = ctx.operators
        turned = values[:, operators.transpose]
        learned = bool(basis)
        out, states = _clenshaw(grad.contiguous(), operators, turned, ctx.backend, keep=learned)
        of_values = (
            _values_gradient(operators, basis[0], states, z_in_rows=False) if learned else None
        )
        return out.to(ctx.dtype), of_values, None, None, None, None


def _values_gradient(operators: OperatorStack, z: Tensor, b: Tensor, *, z_in_rows: bool) -> Tensor:
    """Gradient (a, nnz) from z_s and b_s, (n, S, a, c), one taken at i and the other at j."""
    rows, columns = _entries(operators)
    at_z, at_b = (rows, columns) if z_in_rows else (columns, rows)
    total = z.new_zeros((len(columns), z.shape[2]), dtype=operators.values.dtype)
    for s in range(z.shape[1] - 1):
        product = (z[:, s][at_z] * b[:, s + 1][at_b]).sum(2, dtype=total.dtype)
        total += product if s == 0 else 2.0 * product
    return total.T


def _chosen(backend: str, array: Tensor) -> str:
    if backend not in BACKENDS:
        raise InputError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
    kind = array.device.type
    if backend == "auto":
        backend = {"cpu": "compiled", "cuda": "triton"}.get(kind, "torch")
    if {"compiled": "cpu", "triton": "cuda"}.get(backend, kind) != kind:
        raise InputError(f"the {backend} backend does not work on the device {kind}")
    if array.dtype not in (torch.float32, torch.float64) and backend != "triton":
        raise InputError(f"the {backend} backend takes float32 and float64, not {array.dtype}")
    # Sums are in single precision there; double precision is for checks.
    return "torch" if backend == "triton" and array.dtype == torch.float64 else backend


def _clenshaw(
    y: Tensor, operators: OperatorStack, values: Tensor, backend: str, *, keep: bool
) -> tuple[Tensor, Tensor]:
    """The sum (n, c), and where they are kept the iterates b_s, s > 0, in (n, S, a, c)."""
    if backend == "triton":
        from finsler.nn import _triton

        return _triton.clenshaw(operators.indptr, operators.indices, values, y, keep=keep)
    if backend == "compiled":
        from finsler.nn import _compiled_recurrence

        terms = y.permute(1, 2, 0, 3).contiguous()
        kept = torch.empty(terms.shape if keep else (0, 0, 0, 0), dtype=y.dtype)
        arrays = (operators.indptr, operators.indices, values.contiguous(), terms, kept)
        out = _compiled_recurrence.clenshaw(*(array.detach().numpy() for array in arrays))
        return torch.from_numpy(out).sum(0), kept.permute(2, 0, 1, 3)
    matrices = _matrices(operators, values)
    states = [y[:, -1]]
    for s in range(y.shape[1] - 2, -1, -1):
        product = _times(matrices, states[-1])
        rest = y[:, s] if len(states) == 1 else y[:, s] - states[-2]
        states.append(rest + (2.0 * product if s else product))
    return states[-1].sum(1), torch.stack(states[::-1], dim=1) if keep else y


def _chebyshev(
    x: Tensor,
    operators: OperatorStack,
    values: Tensor,
    orders: int,
    backend: str,
    dtype: torch.dtype,
) -> Tensor:
    """T_s(L̂_θ) x, (n, S, a, c)."""
    if backend == "triton":
        from finsler.nn import _triton

        return _triton.chebyshev(operators.indptr, operators.indices, values, x, orders, dtype)
    if backend == "compiled":
        from finsler.nn import _compiled_recurrence

        arrays = (operators.indptr, operators.indices, values.contiguous(), x)
        numbers = [array.detach().numpy() for array in arrays]
        run: Any = _compiled_recurrence.chebyshev
        return torch.from_numpy(run(*numbers, orders)).permute(2, 0, 1, 3)
    matrices = _matrices(operators, values)
    terms = [x[:, None].expand(-1, len(values), -1)]
    for s in range(1, orders):
        product = _times(matrices, terms[-1])
        terms.append(product if s == 1 else 2.0 * product - terms[-2])
    return torch.stack(terms, dim=1)


def _matrices(operators: OperatorStack, values: Tensor) -> list[Tensor]:
    """The operators as sparse tensors, one for each angle."""
    indices, shape = torch.stack(_entries(operators)), (operators.n, operators.n)
    return [sorted_coo(indices, of_angle, shape) for of_angle in values]


def _entries(operators: OperatorStack) -> tuple[Tensor, Tensor]:
    """Rows and columns (nnz,) of the entries."""
    counts = operators.indptr.diff()
    vertices = torch.arange(operators.n, device=counts.device)
    # A known size spares the device's answer, for which a recorded step cannot wait.
    rows = vertices.repeat_interleave(counts, output_size=len(operators.indices))
    return rows, operators.indices.long()


def _times(matrices: list[Tensor], functions: Tensor) -> Tensor:
    """L̂_θ f_θ of functions (n, a, c)."""
    products = [torch.sparse.mm(m, functions[:, a]) for a, m in enumerate(matrices)]
    return torch.stack(products, dim=1)
