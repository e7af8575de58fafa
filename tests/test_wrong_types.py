"""Arguments of a wrong type or shape end in a sentence that names them, never in numpy's error.

The calls are made from the signatures of all public functions, constructors and methods: a new
parameter needs a valid value in the table below.
"""

import inspect
import warnings
from functools import partial

import numpy as np
import pytest

import finsler
from finsler import RandersMetric, primitives

MESH = primitives.sphere(2)
LAPLACIAN = finsler.lbo(MESH)
SPECTRUM = finsler.spectrum(LAPLACIAN, k=6)
METRIC = RandersMetric.isotropic(MESH)
FRAMES = finsler.principal_frames(MESH, smoothing=1)
FIELD = finsler.oriented_field(MESH, MESH.vertices[:, 2])
STACK = finsler.angle_stack(MESH, angles=2, frames=FRAMES)
OPERATORS = finsler.chebyshev_operators(STACK)
SHOT_FRAMES = finsler.shot_frames(MESH, radius=2.0)
HEIGHT = MESH.vertices[:, 2]
MAP = np.arange(MESH.n_vertices)
DESCRIBED = finsler.describe(MESH, k=10)

INSTANCES = {
    "AngleStack": STACK,
    "DescribedSurface": DESCRIBED,
    "DistanceField": finsler.distance_fields(METRIC, [0], target=5)[0],
    "FaceFrames": FRAMES,
    "Laplacian": LAPLACIAN,
    "OperatorSpec": finsler.OperatorSpec("albo", smoothing=1, angles=2),
    "OrientedField": FIELD,
    "RandersHeat": finsler.RandersHeat(METRIC),
    "RandersMetric": METRIC,
    "Spectrum": SPECTRUM,
    "Viewer": finsler.show(MESH),
}
# One valid value for each parameter; those of one function only are named "function.parameter".
VALID = {
    "alpha": 3.0,
    "amount": 1.0,
    "amplitude": 0.2,
    "angle": 0,
    "angles": 2,
    "as_released": False,
    "axes": (1.5, 1.0, 0.7),
    "basis": METRIC.basis,
    "bins": 4,
    "both": True,
    "bound": "gershgorin",
    "check": True,
    "chebyshev_filter.operator": OPERATORS,
    "coefficients": np.ones((2, 3)),
    "colors": None,
    "config": {"a": 1},
    "count": 4,
    "cover": True,
    "cache": None,
    "describe.k": 10,
    "device": "cpu",
    "describe.operator": finsler.lbo,
    "diffuse.operator": LAPLACIAN,
    "diffusivity": METRIC.diffusivity(),
    "directions": 2,
    "distance": finsler.randers_distance(METRIC, 0),
    "drift": None,
    "drop_degenerate": True,
    "drop_duplicates": True,
    "drop_unreferenced": True,
    "dtype": np.float64,
    "each": False,
    "energies": [0.5, 1.0],
    "epsilon": 0.5,
    "faces": MESH.faces,
    "field": FIELD,
    "field_alpha": 0.0,
    "filter": np.exp,
    "filters": np.exp,
    "frames": FRAMES,
    "frequency": 2,
    "function": HEIGHT,
    "functions": HEIGHT,
    "angle_kernels.filter": finsler.KernelFilter("chebyshev", 2),
    "h": np.eye(3),
    "heat_flow.operator": LAPLACIAN,
    "height": 1.0,
    "growth_bound.operator": OPERATORS[0],
    "growth_bound.directions": 4,
    "initial": MAP,
    "jitter": 0.1,
    "k": 5,
    "keep": False,
    "kind": "flbo",
    "lambda_max": 2.0,
    "laplacian": LAPLACIAN,
    "load_mesh.path": "m.off",
    "load_operators.path": "s.npz",
    "M": np.eye(2),
    "major": 1.0,
    "mass": LAPLACIAN.mass,
    "match.k": 10,
    "match.operator": finsler.lbo,
    "matrix": LAPLACIAN.stiffness,
    "max_iterations": 50,
    "memory": 1.0,
    "merge_tolerance": 0.0,
    "merge_vertices": True,
    "mesh": MESH,
    "mesh_1": MESH,
    "mesh_2": MESH,
    "method": "heat",
    "metric": METRIC,
    "alternatives": 0,
    "landmarks": None,
    "model": "none",
    "vertex_features.model": "box",
    "min_neighbors": 4,
    "minor": 0.4,
    "n_around": 6,
    "n_height": 3,
    "n_major": 6,
    "n_minor": 4,
    "name": "heat",
    "normalization": "plain",
    "number": 0.1,
    "nx": 2,
    "ny": 2,
    "omega": np.zeros(2),
    "omega_axis": "max",
    "OperatorSpec.angles": 2,
    "OperatorSpec.field": "gps",
    "OperatorSpec.omega": "constant",
    "order": 3,
    "orient": True,
    "outward": True,
    "partial": False,
    "path": "o.npz",
    "peak": 0.5,
    "peclet": 0.2,
    "progress": lambda step: None,
    "radius": 1.0,
    "read_described.path": "d.npz",
    "record": {"kind": "albo"},
    "reference": LAPLACIAN,
    "reverse": False,
    "scalar": HEIGHT,
    "scalars": {"height": HEIGHT},
    "seed": 0,
    "share": 0.1,
    "shot.frames": SHOT_FRAMES,
    "show.height": 760,
    "show.mesh_1": None,
    "show.mesh_2": None,
    "show.scalars": {"height": HEIGHT},
    "show.shape": MESH,
    "sigma": 0.3,
    "size": (1.0, 1.0),
    "smoothing": 1,
    "solver": "direct",
    "sources": [0, 3],
    "spectra": SPECTRUM,
    "spectrum": SPECTRUM,
    "spectrum.mass": finsler.consistent_mass(MESH),
    "Spectrum.coefficients": np.ones(6),
    "split_nonmanifold": True,
    "stack": STACK,
    "stacks": [STACK, STACK],
    "start": HEIGHT,
    "steps": 2,
    "strength": 0.5,
    "surface": MESH,
    "t": 0.1,
    "target": 5,
    "tau": 0.1,
    "text": "heat:0.1",
    "theta": 0.3,
    "times": [0.1, 0.2],
    "tolerance": 1e-8,
    "trust": None,
    "u": HEIGHT,
    "u0": HEIGHT,
    "u_max": np.tile([1.0, 0.3, 0.2], (MESH.n_faces, 1)),
    "vectors": np.tile([1.0, 0.3, 0.2], (MESH.n_faces, 1)),
    "vertex": 3,
    "vertices": MESH.vertices,
    "where": "curved",
    "Viewer.path": "v.html",
    "wind": np.zeros(3),
    "write_described.path": "e.npz",
    "write_described.surface": DESCRIBED,
    "write_mesh.path": "w.ply",
}
WRONG = [
    None,
    "text",
    ["a"],
    object(),
    np.nan,
    np.inf,
    -1,
    2.5,
    True,
    np.ones((2, 5)),
    np.ones(0),
    np.ones(3, dtype=complex),
    [[1.0], [1.0, 2.0]],
]


def calls():
    """Name and callable of everything public that takes arguments."""
    public = {name: getattr(finsler, name) for name in finsler.__all__}
    module = vars(public.pop("primitives"))
    shapes = {name: made for name, made in module.items() if inspect.isfunction(made)}
    shapes = {n: made for n, made in shapes.items() if made.__module__ == primitives.__name__}
    for name, value in (public | {n: f for n, f in shapes.items() if n[0] != "_"}).items():
        if inspect.isfunction(value):
            yield name, value
        elif not issubclass(value, Exception):
            # Records that functions return have no checks of their own, nor a section on errors.
            if "Raises" in (value.__doc__ or ""):
                yield name, value
            for method, kind in vars(value).items():
                if method[0] != "_" and isinstance(kind, classmethod):
                    yield f"{name}.{method}", getattr(value, method)
                elif method[0] != "_" and inspect.isfunction(kind) and takes_more(kind):
                    yield f"{name}.{method}", getattr(INSTANCES[name], method)


def takes_more(method):
    return len(inspect.signature(method).parameters) > 1


CALLS = dict(calls())


def valid_arguments(name, function):
    given = {}
    for parameter in inspect.signature(function).parameters:
        for key in (f"{name}.{parameter}", f"{name.split('.')[0]}.{parameter}", parameter):
            if key in VALID:
                given[parameter] = VALID[key]
                break
        else:
            raise AssertionError(f"add a valid value of {parameter!r} of {name} to the table")
    return given


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finsler.write_mesh("m.off", MESH)
    finsler.save_operators("s.npz", STACK)
    finsler.write_described("d.npz", DESCRIBED)


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_argument_is_named(name):
    function = CALLS[name]
    given = valid_arguments(name, function)
    taken = inspect.signature(function).parameters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function_call(function, given)
        faults = [
            f"{parameter}={wrong!r}: {fault}"
            for parameter in given
            for wrong in WRONG
            if wrong is not taken[parameter].default
            and (fault := fault_of(partial(function_call, function), given, parameter, wrong))
        ]
    assert not faults, "\n".join(faults)


def function_call(function, given):
    taken = inspect.signature(function).parameters
    positional = [given[n] for n in given if taken[n].kind is not taken[n].KEYWORD_ONLY]
    named = {n: given[n] for n in given if taken[n].kind is taken[n].KEYWORD_ONLY}
    return function(*positional, **named)


def fault_of(call, given, parameter, wrong):
    """What is wrong with how a wrong argument is answered; None where all is well."""
    try:
        call({**given, parameter: wrong})
    except (finsler.InputError, finsler.ConvergenceError) as error:
        message = str(error)
        named = parameter.lower() in message.lower().replace("_", " ") + message.lower()
        shown = isinstance(wrong, str) and wrong in message
        return None if named or shown else f"not named in: {message}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "taken silently" if isinstance(wrong, float) and np.isnan(wrong) else None


def test_an_array_where_one_number_is_needed():
    with pytest.raises(finsler.InputError, match=r"alpha is an array of .*; it must be one number"):
        finsler.flbo(MESH, alpha=np.ones(MESH.n_faces))


def test_one_entry_stands_for_all_faces():
    plane = primitives.plane(3, 3)
    many = RandersMetric.from_wind(
        plane, np.tile(np.eye(3), (plane.n_faces, 1, 1)), np.tile([0.5, 0, 0], (plane.n_faces, 1))
    )
    one = RandersMetric.from_wind(plane, np.eye(3), [0.5, 0, 0])
    assert np.array_equal(one.M, many.M) and np.array_equal(one.omega, many.omega)


def test_one_direction_and_one_tensor_stand_for_all_faces():
    plane, tensor = primitives.plane(3, 3), np.diag([1.0, 2.0, 3.0])
    m = plane.n_faces
    for function in (finsler.laplacian, finsler.delaunay_laplacian):
        one, many = function(plane, tensor), function(plane, np.tile(tensor, (m, 1, 1)))
        one, many = (getattr(made, "laplacian", made) for made in (one, many))
        assert (one.stiffness != many.stiffness).nnz == 0
    direction, rows = [1.0, 1.0, 0.0], np.tile([1.0, 1.0, 0.0], (m, 1))
    for make in (finsler.FaceFrames.from_directions, finsler.OrientedField.from_vectors):
        one, many = make(plane, direction), make(plane, rows)
        assert all(np.array_equal(v, vars(many)[k]) for k, v in vars(one).items() if k != "mesh")
