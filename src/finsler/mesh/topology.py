"""How faces hang together: edges, boundary, components, orientation, manifoldness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, depth_first_order

from finsler.mesh.arguments import takes_meshes
from finsler.mesh.summary import one_line
from finsler.mesh.trimesh import TriMesh
from finsler.typing import BoolArray, FloatArray, IntArray


@one_line()
@dataclass(frozen=True, eq=False)
class Edges:
    """The undirected edges of a mesh and the half-edges (sides of faces) that lie on them.

    Half-edge `3 f + c` runs from corner `c` of face `f` to corner `c + 1`.

    Attributes
    ----------
    vertices : (e, 2)
        End points, smaller index first, sorted.
    of_halfedge : (3 m,)
        Edge of each half-edge.
    counts : (e,)
        Number of faces on each edge: 1 on the boundary, 2 inside, more where not manifold.
    pairs : (p, 2)
        The two half-edges of every edge that has exactly two.
    """

    vertices: IntArray
    of_halfedge: IntArray
    counts: IntArray
    pairs: IntArray


@takes_meshes
def edges(mesh: TriMesh) -> Edges:
    """Edges of a mesh; sides of length zero (a repeated corner) are edges like any other.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> edges(mesh).vertices.tolist()
    [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
    >>> edges(mesh).pairs.tolist()
    [[2, 3]]
    """
    return edge_table(mesh.faces, mesh.n_vertices)


def edge_table(faces: IntArray, n_vertices: int) -> Edges:
    """Edges of faces (m, 3) whose corners are numbers below `n_vertices`."""
    start = faces.ravel()
    end = np.roll(faces, -1, axis=1).ravel()
    key = np.minimum(start, end) * n_vertices + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    first = np.flatnonzero(np.r_[True, sorted_key[1:] != sorted_key[:-1]])
    counts = np.diff(np.r_[first, len(key)])
    of_halfedge = np.empty(len(key), dtype=np.int64)
    of_halfedge[order] = np.repeat(np.arange(len(first)), counts)
    twice = first[counts == 2]
    return Edges(
        vertices=np.stack(np.divmod(sorted_key[first], n_vertices), axis=1),
        of_halfedge=of_halfedge,
        counts=counts,
        pairs=np.stack([order[twice], order[twice + 1]], axis=1),
    )


@takes_meshes
def referenced_vertices(mesh: TriMesh) -> BoolArray:
    """Mask (n,) of the vertices that some face uses."""
    used = np.zeros(mesh.n_vertices, dtype=np.bool_)
    used[mesh.faces] = True
    return used


@takes_meshes
def vertex_components(mesh: TriMesh) -> IntArray:
    """Connected component of each vertex, (n,), numbered from 0; -1 where no face uses it.

    Faces that share a vertex belong together.

    Examples
    --------
    >>> vertex_components(TriMesh(np.eye(4, 3), [[0, 2, 3]])).tolist()
    [0, -1, 0, 0]
    """
    used = referenced_vertices(mesh)
    labels = connected_labels(mesh.n_vertices, mesh.faces.T[:2], mesh.faces.T[1:])
    components = np.full(mesh.n_vertices, -1, dtype=np.int64)
    components[used] = np.unique(labels[used], return_inverse=True)[1]
    return components


@takes_meshes
def euler_number(mesh: TriMesh) -> int:
    """Vertices in use − edges + faces: 2 − 2g for a closed orientable surface of genus g."""
    return int(referenced_vertices(mesh).sum()) - len(edges(mesh).vertices) + mesh.n_faces


@takes_meshes
def nonmanifold_edges(mesh: TriMesh, table: Edges | None = None) -> IntArray:
    """End points (k, 2) of the edges with three or more faces; `table` saves finding the edges."""
    table = edges(mesh) if table is None else table
    return table.vertices[(table.counts > 2) & proper_edges(table)]


@takes_meshes
def nonmanifold_vertices(mesh: TriMesh) -> IntArray:
    """Indices (k,) of the vertices around which the faces form more than one fan."""
    _, first = np.unique(corner_fans(mesh), return_index=True)
    fans = np.bincount(mesh.faces.ravel()[first], minlength=mesh.n_vertices)
    return np.flatnonzero(fans > 1)


@takes_meshes
def corner_fans(mesh: TriMesh) -> IntArray:
    """Fan of each corner, (3 m,); corner `3 f + c` is corner `c` of face `f`.

    Two corners at the same vertex lie in one fan when a walk around the vertex, across edges with
    exactly two faces, leads from one to the other. A fan is a ring of faces or a strip of them.
    """
    return joined_corners(mesh.faces, paired_halfedges(edges(mesh)), mesh.faces)


def joined_corners(faces: IntArray, pairs: IntArray, names: IntArray) -> IntArray:
    """Label (3 m,) of each corner when the half-edges of each pair (p, 2) are made one.

    `names` (m, 3) tells which ends of the two belong together: those of the same name.
    """
    first, second = pairs[:, 0], pairs[:, 1]
    same = names.ravel()[first] == names.ravel()[second]
    at_start = np.where(same, second, next_corner(second))
    at_end = np.where(same, next_corner(second), second)
    heads, tails = np.r_[first, next_corner(first)], np.r_[at_start, at_end]
    return connected_labels(faces.size, heads, tails)


@takes_meshes
def inconsistent_edges(mesh: TriMesh, table: Edges | None = None) -> IntArray:
    """End points (k, 2) of the two-face edges that both faces traverse in the same direction.

    `table` saves finding the edges.
    """
    pairs = paired_halfedges(edges(mesh) if table is None else table)
    wrong = pairs[_same_direction(mesh, pairs), 0]
    return np.sort(np.stack([mesh.faces.ravel()[h] for h in (wrong, next_corner(wrong))], 1))


@one_line()
@dataclass(frozen=True, eq=False)
class Orientation:
    """How the faces of a mesh are oriented against each other.

    Attributes
    ----------
    component : (m,)
        Component of each face, from 0; faces are joined across edges with exactly two faces.
    orientable : (k,)
        Whether each component can be oriented consistently.
    closed : (k,)
        Whether each component is free of boundary and of non-manifold edges.
    flip : (m,)
        Faces to turn over for a consistent orientation: the fewer ones of each component.
        None in a component that is not orientable.
    """

    component: IntArray
    orientable: BoolArray
    closed: BoolArray
    flip: BoolArray


@takes_meshes
def orientation(mesh: TriMesh) -> Orientation:
    """Orientability and a consistent orientation, from the connected components of a double cover.

    Every face has two copies, as given and turned over; two faces at an edge join equal copies
    when they traverse it in opposite directions, otherwise opposite ones. A component is not
    orientable exactly when the two copies of a face are connected.

    Examples
    --------
    >>> mesh = TriMesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 3, 2]])
    >>> bool(orientation(mesh).orientable[0]), int(orientation(mesh).flip.sum())
    (True, 1)
    """
    m = mesh.n_faces
    pairs = paired_halfedges(edges(mesh))
    left, right = pairs[:, 0] // 3, pairs[:, 1] // 3
    across = m * _same_direction(mesh, pairs)
    sheets = connected_labels(
        2 * m, np.r_[left, left + m], np.r_[right + across, right + m - across]
    )
    given, turned = sheets[:m], sheets[m:]
    _, component = np.unique(np.minimum(given, turned), return_inverse=True)
    second = given > turned
    faces = np.bincount(component)
    share = np.bincount(component, second) / faces
    return Orientation(
        component=component,
        orientable=np.bincount(component, given == turned) == 0,
        closed=np.bincount(component[pairs.ravel() // 3], minlength=len(share)) == 3 * faces,
        flip=(second != (share > 0.5)[component]) & (given != turned),
    )


@takes_meshes
def component_volumes(mesh: TriMesh, component: IntArray) -> FloatArray:
    """Signed volume (k,) under each component of faces, `component` (m,).

    Positive where a closed component is oriented outwards; about the centre of the mesh.
    """
    a, b, c = (mesh.vertices - mesh.vertices.mean(axis=0))[mesh.faces].transpose(1, 0, 2)
    sixfold = np.einsum("ij,ij->i", a, np.cross(b, c))
    return np.asarray(np.bincount(component, sixfold) / 6.0, dtype=np.float64)


@takes_meshes
def boundary_loops(mesh: TriMesh) -> list[IntArray]:
    """Vertices along each boundary loop, the surface on the left of the first step.

    A vertex where two loops touch appears in both. Where the boundary runs into a non-manifold
    edge there is no loop but an open chain, which is listed too.

    Examples
    --------
    >>> len(boundary_loops(TriMesh(np.eye(3), [[0, 1, 2]])))
    1
    """
    table = edges(mesh)
    start = np.flatnonzero(((table.counts == 1) & proper_edges(table))[table.of_halfedge])
    if len(start) == 0:
        return []
    fans = corner_fans(mesh)
    nodes, ends = np.unique(fans[np.c_[start, next_corner(start)]], return_inverse=True)
    ends = ends.reshape(-1, 2)
    vertex = np.empty(len(nodes), dtype=np.int64)
    vertex[ends] = mesh.faces.ravel()[np.c_[start, next_corner(start)]]
    forward = np.full(len(nodes), -1, dtype=np.int64)
    forward[ends[:, 0]] = ends[:, 1]
    chains = _chains(len(nodes), ends)
    return [vertex[c if forward[c[0]] == c[1] else c[::-1]] for c in chains]


def _chains(n: int, links: IntArray) -> list[IntArray]:
    """Order the nodes of a graph whose every node has at most two links, one array a component.

    One depth-first walk does all: an extra node links to one node of each component, an end of
    it where there is one, and the walk finishes a component before it starts the next.
    """
    label = connected_labels(n, links[:, 0], links[:, 1])
    by_degree = np.lexsort([np.bincount(links.ravel(), minlength=n), label])
    roots = by_degree[np.r_[True, np.diff(label[by_degree]) > 0]]
    heads, tails = np.r_[links[:, 0], np.full(len(roots), n)], np.r_[links[:, 1], roots]
    graph = coo_array((np.ones(len(heads)), (heads, tails)), shape=(n + 1, n + 1)).tocsr()
    walk = depth_first_order(graph, n, directed=False, return_predecessors=False)[1:]
    return np.split(walk.astype(np.int64), np.flatnonzero(np.diff(label[walk])) + 1)


def connected_labels(n: int, heads: IntArray, tails: IntArray) -> IntArray:
    """Component (n,) of each node of a graph with links from `heads` to `tails`."""
    links = (np.ravel(heads), np.ravel(tails))
    graph = coo_array((np.ones(len(links[0]), dtype=np.int8), links), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def proper_edges(table: Edges) -> BoolArray:
    """Mask (e,) of the edges with two different ends; a face with a repeated corner has others."""
    return np.asarray(table.vertices[:, 0] != table.vertices[:, 1])


def paired_halfedges(table: Edges) -> IntArray:
    """The two half-edges (p, 2) of every proper edge that has exactly two."""
    return table.pairs[proper_edges(table)[table.of_halfedge[table.pairs[:, 0]]]]


def _same_direction(mesh: TriMesh, pairs: IntArray) -> BoolArray:
    start = mesh.faces.ravel()
    return np.asarray(start[pairs[:, 0]] == start[pairs[:, 1]])


def next_corner(corner: IntArray) -> IntArray:
    """The corner that follows in the same face, corner `c` of face `f` being `3 f + c`."""
    return corner - corner % 3 + (corner + 1) % 3
