"""Field convolutions: the definition itself, and what must not change the result."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import finsler
from exact import relabelled, rotation
from finsler import TriMesh, primitives
from finsler.analysis.log_maps import frame_neighbors, vertex_support
from finsler.baselines.field_conv import (
    ComplexLinear,
    EchoDescriptor,
    FieldConv,
    FieldConvNet,
    Lift,
    ModulusReLU,
    ResidualBlock,
    SupportGraph,
    disk_bins,
    echo_histogram,
    polar,
    ring_radii,
    rotate,
)

MESH = primitives.bumpy_sphere(4)
SUPPORT = vertex_support(MESH, 0.7)
SMALL = {"channels": 6, "lifted": 4, "blocks": 4, "descriptors": 3, "hidden": 16}


def graph_of(*supports, dtype=torch.float64):
    return SupportGraph.from_supports(supports, dtype=dtype)


def single(value):
    return torch.tensor([value], dtype=torch.float64)


def fields(n, channels, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, channels, generator=generator, dtype=torch.complex128)


def net(classes=7, in_channels=3, dtype=torch.float64, **changes):
    torch.manual_seed(0)
    return FieldConvNet(in_channels, classes, **{**SMALL, **changes}).to(dtype).eval()


def turned(graph, angles):
    """The same graph when the frame of each vertex is turned by an angle (n,)."""
    i, j = angles[graph.rows], angles[graph.columns]
    return dataclasses.replace(
        graph,
        theta=graph.theta - j,
        direction=graph.direction - i,
        phi=graph.phi - i + j,
    )


def random_angles(n, dtype=torch.float64):
    return 7.0 * torch.rand(n, generator=torch.Generator().manual_seed(5), dtype=dtype)


class TestDefinition:
    @pytest.mark.parametrize("kind", ["real", "phase", "complex"])
    @pytest.mark.parametrize(("band", "rings"), [(0, 1), (1, 3), (2, 2)])
    def test_field_convolution_is_the_sum_over_neighbours(self, kind, band, rings):
        torch.manual_seed(1)
        layer = FieldConv(2, 3, band=band, rings=rings, kind=kind).double()
        x = fields(len(MESH.vertices), 2)
        graph = graph_of(SUPPORT)
        found = layer(x, graph).detach().numpy()
        # (frequencies, rings, in, out)
        filters = layer.filters().detach().numpy().reshape(2 * band + 1, rings, 2, 3)
        radii = ring_radii(rings).numpy()
        x = x.numpy()
        for i in (0, 17, 100):
            expected = np.zeros(3, dtype=complex)
            for e in torch.nonzero(graph.rows == i)[:, 0].tolist():
                j, r, theta = int(graph.columns[e]), float(graph.r[e]), float(graph.theta[e])
                for m in range(-band, band + 1):
                    if j == i and m:
                        continue
                    for c in range(2):
                        at_r = [np.interp(r, radii, filters[m + band, :, c, o]) for o in range(3)]
                        angle = m * (theta - np.angle(x[j, c])) + float(graph.phi[e])
                        value = np.exp(1j * angle) * float(graph.weight[e]) * x[j, c]
                        expected += np.array(at_r) * value
            assert np.allclose(found[i], expected, atol=1e-12)

    def test_rings_have_equal_area(self):
        assert torch.allclose(ring_radii(5).square().diff(), torch.full((4,), 0.25).double())
        assert ring_radii(1).tolist() == [0.0]

    def test_nonlinearity_acts_on_the_modulus(self):
        layer = ModulusReLU(3).double()
        layer.bias.data = torch.tensor([1.0, -1.0, -10.0], dtype=torch.float64)
        x = torch.tensor([[3 + 4j, 3 + 4j, 3 + 4j], [0, 0, 0]], dtype=torch.complex128)
        expected = torch.tensor([[3.6 + 4.8j, 2.4 + 3.2j, 0], [0, 0, 0]], dtype=torch.complex128)
        assert torch.allclose(layer(x), expected)

    def test_a_vote_lands_where_the_neighbour_sees_the_vertex(self):
        # Vertex 1 sees vertex 0 at angle 0.3 and half the radius; its vector has angle 0.3 - π/2,
        # so that it finds vertex 0 straight to its left: bin (0, 1) of two on a radius.
        graph = SupportGraph(
            rows=torch.tensor([0]),
            columns=torch.tensor([1]),
            r=single(0.5),
            theta=single(0.3),
            direction=single(0.0),
            phi=single(1.0),
            weight=single(0.25),
            sizes=(2,),
        )
        length = torch.tensor([[0.0], [2.0]]).double()
        x = torch.polar(length, torch.full_like(length, 0.3 - math.pi / 2))
        found = echo_histogram(x, graph, 2)
        expected = torch.zeros(21, dtype=torch.float64)
        expected[disk_bins(2).tolist().index([0, 1])] = 21 * 0.25 * 2.0
        assert torch.allclose(found[0, 0], expected, atol=1e-12)
        assert (found[1] == 0.0).all()
        # Half a bin farther out it is shared with the next one.
        far = dataclasses.replace(graph, r=single(0.75))
        expected[disk_bins(2).tolist().index([0, 2])] = 21 * 0.25
        expected[disk_bins(2).tolist().index([0, 1])] = 21 * 0.25
        assert torch.allclose(echo_histogram(x, far, 2)[0, 0], expected, atol=1e-12)

    def test_lift_of_a_linear_function_points_along_its_gradient(self):
        mesh = primitives.plane(10, 10)
        graph = graph_of(vertex_support(mesh, 0.25))
        torch.manual_seed(0)
        layer = Lift(1, 1, kind="real").double()
        slope = np.array([0.8, -0.6])
        found = layer(torch.tensor(mesh.vertices[:, :2] @ slope)[:, None] + 5.0, graph)
        x = mesh.vertices[:, 0] + 1j * mesh.vertices[:, 1]
        edge = x[frame_neighbors(mesh)] - x
        in_plane = found[:, 0].detach().numpy() * edge / np.abs(edge)
        inside = (np.abs(mesh.vertices[:, :2] - 0.5) < 0.24).all(axis=1)
        direction = in_plane[inside] / np.abs(in_plane[inside])
        sign = np.sign((direction * (0.8 + 0.6j)).real[0])
        assert np.allclose(direction, sign * (0.8 - 0.6j), atol=1e-5)


class TestInvariance:
    @pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
    def test_frames_do_not_matter(self, dtype, within):
        graph, model = graph_of(SUPPORT, dtype=dtype), net(dtype=dtype)
        features = torch.tensor(MESH.vertices, dtype=dtype)
        other = turned(graph, random_angles(len(features), dtype))
        found, again = model(features, graph), model(features, other)
        assert found.std() > 0.01
        assert (found - again).abs().max() < within * found.abs().max()

    def test_vectors_turn_with_frames(self):
        graph, x = graph_of(SUPPORT), fields(len(MESH.vertices), 2)
        angles = random_angles(len(x))
        back = torch.polar(torch.ones_like(angles), -angles)[:, None]
        layer = ResidualBlock(2, 3, band=2).double()
        layer.after.bias.data.fill_(0.1)
        here, there = layer(x, graph), layer(back * x, turned(graph, angles))
        assert (back * here - there).abs().max() < 1e-12

    def test_motion_does_not_matter_to_invariant_features(self):
        model, features = net(), torch.tensor(MESH.vertices)
        moved = TriMesh(2.0 * MESH.vertices @ rotation(3).T - 1.0, MESH.faces)
        here = model(features, graph_of(SUPPORT))
        there = model(features, graph_of(vertex_support(moved, 1.4)))
        assert (here - there).abs().max() < 1e-4

    def test_numbering_goes_along(self):
        model = net()
        other, old, _ = relabelled(MESH, 4)
        here = model(torch.tensor(MESH.vertices), graph_of(SUPPORT))
        there = model(torch.tensor(other.vertices), graph_of(vertex_support(other, 0.7)))
        assert (here[old] - there).abs().max() < 1e-4

    def test_batched_is_unbatched(self):
        model, second = net(), primitives.bumpy_sphere(3, amplitude=0.1)
        supports = [SUPPORT, vertex_support(second, 0.9)]
        features = [torch.tensor(mesh.vertices) for mesh in (MESH, second)]
        both = model(torch.cat(features), graph_of(*supports))
        alone = torch.cat([model(f, graph_of(s)) for f, s in zip(features, supports, strict=True)])
        assert (both - alone).abs().max() < 1e-12

    def test_same_numbers_twice(self):
        graph, features = (
            graph_of(SUPPORT, dtype=torch.float32),
            torch.tensor(MESH.vertices).float(),
        )
        gradients = []
        for _ in range(2):
            model = net(dtype=torch.float32)
            model(features, graph).square().sum().backward()
            gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
        assert torch.equal(*gradients)


class TestGradients:
    mesh = primitives.bumpy_sphere(1, amplitude=0.2)
    graph = graph_of(vertex_support(mesh, 1.3))

    @pytest.mark.parametrize(
        "make",
        [
            lambda: FieldConv(2, 2, band=2),
            lambda: FieldConv(2, 2, kind="complex", rings=2),
            lambda: ResidualBlock(2, 2),
            lambda: EchoDescriptor(2, 3, channels=2),
        ],
        ids=["phase", "complex", "block", "echo"],
    )
    def test_layers(self, make):
        torch.manual_seed(2)
        layer = make().double()
        names, values = zip(*layer.named_parameters(), strict=True)
        x = fields(self.mesh.n_vertices, 2).requires_grad_()

        def run(x, *values):
            return torch.func.functional_call(
                layer, dict(zip(names, values, strict=True)), (x, self.graph)
            )

        assert gradcheck(run, (x, *values))

    def test_lift_and_pointwise_layers(self):
        torch.manual_seed(3)
        lift, shift, linear = Lift(2, 2).double(), ModulusReLU(2).double(), ComplexLinear(2, 3)
        linear = linear.double()
        shift.bias.data = torch.tensor([0.3, -0.2], dtype=torch.float64)
        scalars = torch.tensor(self.mesh.vertices[:, :2]).requires_grad_()
        assert gradcheck(lambda s: linear(shift(lift(s, self.graph))), (scalars,))

    def test_vectors_that_vanish(self):
        x = fields(self.mesh.n_vertices, 2)
        x[3] = 0.0
        x[4, 0] = 1e-30
        x.requires_grad_()
        layer = ResidualBlock(2, 2).double()
        layer.between.bias.data.fill_(0.5)
        y = layer(x, self.graph)
        (y.abs().sum() + echo_histogram(x, self.graph, 2).sum()).backward()
        assert torch.isfinite(y).all() and torch.isfinite(torch.view_as_real(x.grad)).all()
        zero = torch.zeros(2, dtype=torch.complex128, requires_grad=True)
        modulus, unit = polar(zero)
        (modulus.sum() + unit.abs().sum()).backward()
        assert (zero.grad == 0.0).all() and (unit == 0.0).all()


class TestNetwork:
    def test_published_size(self):
        def conv(a, b):
            return a * b * 3 * (3 + 1)

        def block(a, b):
            return conv(a, b) + conv(b, b) + 2 * a * b + 2 * b

        lift = 3 * 16 * (3 + 1) + 3 * 16 * 3
        blocks = block(16, 32) + 6 * block(32, 32) + block(32, 16)
        shortcuts = 2 * (16 * 32 + 2 * 32 * 32 + 32 * 16)
        echo = conv(16, 12) + (12 * 21 + 1) * 32 + 33 * 32
        head = 33 * 256 + 257 * 4999
        model = FieldConvNet(3, 4999)
        count = sum(p.numel() for p in model.parameters())
        assert count == lift + blocks + shortcuts + echo + head == 1_501_047
        assert not any(p.is_complex() for p in model.parameters())

    def test_many_channels_of_input(self):
        features = torch.randn(len(MESH.vertices), 352, generator=torch.Generator().manual_seed(0))
        logits = net(in_channels=352)(features.double(), graph_of(SUPPORT))
        assert logits.shape == (162, 7) and torch.isfinite(logits).all()

    def test_learns_one_shape_by_heart(self):
        mesh = primitives.bumpy_sphere(3)
        graph = graph_of(vertex_support(mesh, 0.9), dtype=torch.float32)
        model = net(classes=mesh.n_vertices, dtype=torch.float32, blocks=2)
        features, labels = torch.tensor(mesh.vertices).float(), torch.arange(mesh.n_vertices)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(80):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(features, graph), labels).backward()
            optimizer.step()
        assert (model(features, graph).argmax(1) == labels).float().mean() > 0.95

    def test_rotation(self):
        points = torch.eye(3, dtype=torch.float64)
        generator = torch.Generator().manual_seed(0)
        seen = torch.stack([rotate(points, generator) for _ in range(300)])
        assert torch.allclose(seen @ seen.transpose(1, 2), points.expand(300, 3, 3))
        assert torch.allclose(torch.linalg.det(seen), torch.ones(300).double())
        assert torch.equal(rotate(points, torch.Generator().manual_seed(0)), seen[0])
        # Rows are images of the axes under Z Y X: the middle angle is read off the first.
        middle = torch.asin(-seen[:, 0, 2]).rad2deg()
        outer = torch.atan2(seen[:, 0, 1], seen[:, 0, 0]).rad2deg()
        inner = torch.atan2(seen[:, 1, 2], seen[:, 2, 2]).rad2deg()
        for angle in (inner, middle, outer):
            assert angle.abs().max() < 45.0 and angle.min() < -40.0 and angle.max() > 40.0
        assert torch.allclose(rotate(points, generator, degrees=0.0), points)

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
    def test_accelerator_finds_the_same(self):
        found = []
        for device in ("cpu", "cuda"):
            model, graph = net().to(device), graph_of(SUPPORT).to(device)
            logits = model(torch.tensor(MESH.vertices, device=device), graph)
            logits.square().sum().backward()
            gradients = [p.grad.flatten() for p in model.parameters()]
            found.append(torch.cat([logits.detach().flatten(), *gradients]).cpu())
        assert torch.allclose(*found, rtol=1e-9, atol=1e-9)

    def test_a_moved_graph_is_complete(self):
        graph, features = graph_of(SUPPORT), torch.tensor(MESH.vertices)
        model = net()
        assert torch.equal(model(features, graph), model(features, graph.to("cpu")))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FieldConv(2, 2, kind="magic"), "kind must be one of real, phase, complex"),
        (lambda: FieldConv(2, 2, band=-1), "band is -1"),
        (lambda: FieldConv(2, 0), "all must be at least 1"),
        (lambda: ring_radii(0), "rings is 0"),
        (lambda: disk_bins(0), "bins is 0"),
        (lambda: FieldConvNet(3, 5, blocks=3), "blocks is 3; an even number"),
        (lambda: graph_of(), "at least one support"),
        (lambda: net()(torch.zeros(5, 3), graph_of(SUPPORT)), "5 rows, but the graph has 162"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(finsler.InputError, match=message):
        make()
