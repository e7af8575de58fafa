"""PLY, text and binary of both byte orders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finsler.errors import InputError
from finsler.mesh.formats.text import (
    NumberRows,
    fan_triangles,
    number_rows,
    ranges,
    whole_numbers,
)
from finsler.mesh.trimesh import TriMesh
from finsler.storage.outputs import mark
from finsler.typing import FloatArray, IntArray

_TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
_MOST_PROPERTIES = 1000
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True)
class _Property:
    """A value of each item, or with `count_type` a list of values that its length precedes."""

    name: str
    type: str
    count_type: str | None


@dataclass(frozen=True)
class _Element:
    name: str
    count: int
    properties: tuple[_Property, ...]


@dataclass(frozen=True, eq=False)
class _Column:
    """Values of one property for all items; `lengths` (count,) splits those of a list."""

    values: NDArray[Any]
    lengths: IntArray | None


_Columns = dict[str, _Column]


def read(data: bytes) -> TriMesh:
    """Read positions x, y, z and the polygons; other properties and elements are dropped."""
    order, elements, body = _header(data)
    columns: dict[str, _Columns] = {}
    rows = number_rows(data[body:].splitlines()) if order == "" else None
    first = 0
    for element in elements:
        if {"vertex", "face"} <= columns.keys():
            break
        if rows is not None:
            if element.count > len(rows) - first:
                raise _cut_short(element)
            columns[element.name] = _text_columns(rows.slice(first, first + element.count), element)
            first += element.count
        else:
            columns[element.name], body = _binary_columns(data, body, element, order)
    return TriMesh(_positions(columns.get("vertex", {})), _triangles(columns.get("face", {})))


def _header(data: bytes) -> tuple[str, list[_Element], int]:
    """Byte order ("" for text), elements, and where the data begins."""
    end = re.search(rb"(^|\n|\r)end_header[ \t]*(\r\n|\n|\r|$)", data)
    if data[:3] != b"ply" or end is None:
        raise InputError(
            "there is no header from ply to end_header; the file is no PLY or cut short"
        )
    order: str | None = None
    elements: list[tuple[str, int, list[_Property]]] = []
    for line in data[: end.start()].decode("ascii", errors="replace").splitlines():
        match line.split():
            case ["format", name, *_] if name in _ORDERS:
                order = _ORDERS[name]
            case ["element", name, count] if _is_element(name, count):
                elements.append((name, int(count), []))
            case ["property", *words] if elements:
                elements[-1][2].append(_property(words, line))
            case ["ply" | "comment" | "obj_info", *_] | []:
                continue
            case _:
                raise InputError(f"the header line {line[:40]!r} is not understood")
    if any(len(properties) > _MOST_PROPERTIES for _, _, properties in elements):
        raise InputError(f"an element has more than {_MOST_PROPERTIES} properties; remove some")
    names = [name for name, _, _ in elements]
    for name in ("vertex", "face"):
        if names.count(name) > 1:
            raise InputError(
                f"the header has {names.count(name)} elements {name!r}, of which readers take one;"
                " write them as one element"
            )
    if order is None:
        raise InputError("the header names no format; it must be ascii or binary of either order")
    return order, [_Element(name, n, tuple(listed)) for name, n, listed in elements], end.end()


def _is_element(name: str, count: str) -> bool:
    return name.isprintable() and len(name) <= 40 and count.isdecimal() and len(count) < 19


def _property(words: list[str], line: str) -> _Property:
    match words:
        case ["list", count, kind, name] if _TYPES.get(count, "f")[0] != "f" and kind in _TYPES:
            return _Property(name, _TYPES[kind], _TYPES[count])
        case [kind, name] if kind in _TYPES:
            return _Property(name, _TYPES[kind], None)
    raise InputError(f"the header line {line[:40]!r} is not understood")


def _cut_short(element: _Element) -> InputError:
    return InputError(
        f"the header counts {element.count} items of {element.name}, more than the file holds;"
        " it is damaged or cut short"
    )


def _text_columns(rows: NumberRows, element: _Element) -> _Columns:
    """Columns of one element, whose items are the rows."""
    columns: _Columns = {}
    cursor = np.zeros(len(rows), dtype=np.int64)
    for item in element.properties:
        rows.require_lengths(cursor + 1, element.name)
        values = rows.values[rows.starts + cursor]
        cursor = cursor + 1
        if item.count_type is None:
            columns[item.name] = _Column(values, None)
            continue
        rows.require_lengths(cursor + values, element.name)
        lengths = np.maximum(whole_numbers(values), 0)
        inside = rows.values[ranges(rows.starts + cursor, lengths)]
        columns[item.name] = _Column(inside, lengths)
        cursor = cursor + lengths
    return columns


def _binary_columns(data: bytes, start: int, element: _Element, order: str) -> tuple[_Columns, int]:
    """Columns of one element that begins at byte `start`, and where it ends.

    When all lists have the lengths of the first item, as in a triangle mesh, the element is one
    structured array; otherwise its items are walked one by one.
    """
    if element.count == 0 or not element.properties:
        return {}, start
    lengths, _ = _item_lengths(data, start, element, order)
    item = np.dtype(
        [
            (f"{part}{i}", order + kind, shape)
            for i, p in enumerate(element.properties)
            for part, kind, shape in _fields(p, lengths[i])
        ]
    )
    end = start + element.count * item.itemsize
    if end <= len(data):
        table = np.frombuffer(data, item, element.count, start)
        lists = [i for i, p in enumerate(element.properties) if p.count_type is not None]
        if all((table[f"count{i}"] == lengths[i]).all() for i in lists):
            return {
                p.name: _native(table[f"value{i}"], lengths[i] if i in lists else None)
                for i, p in enumerate(element.properties)
            }, end
    if all(p.count_type is None for p in element.properties):
        raise _cut_short(element)
    return _walked_columns(data, start, element, order)


def _fields(item: _Property, length: int) -> list[tuple[str, str, tuple[int, ...]]]:
    if item.count_type is None:
        return [("value", item.type, ())]
    return [("count", item.count_type, ()), ("value", item.type, (length,))]


def _native(values: NDArray[Any], length: int | None) -> _Column:
    kind = np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64
    lengths = None if length is None else np.full(len(values), length, dtype=np.int64)
    with np.errstate(invalid="ignore"):  # a signalling NaN; reported as not finite
        return _Column(values.astype(kind).ravel(), lengths)


def _item_lengths(data: bytes, start: int, element: _Element, order: str) -> tuple[list[int], int]:
    """List lengths (1 for a plain value) of the item at byte `start`, and where it ends."""
    lengths = []
    for item in element.properties:
        length = 1
        if item.count_type is not None:
            size = np.dtype(item.count_type).itemsize
            if start + size > len(data):
                raise _cut_short(element)
            raw = data[start : start + size]
            length = int(np.frombuffer(raw, order + item.count_type)[0])
            start += size
        start += length * np.dtype(item.type).itemsize
        if length < 0 or start > len(data):
            raise _cut_short(element)
        lengths.append(length)
    return lengths, start


def _walked_columns(data: bytes, start: int, element: _Element, order: str) -> tuple[_Columns, int]:
    smallest = sum(np.dtype(p.count_type or p.type).itemsize for p in element.properties)
    if element.count * smallest > len(data) - start:
        raise _cut_short(element)
    offsets = np.empty(element.count, np.int64)
    table = np.empty((element.count, len(element.properties)), np.int64)
    for i in range(element.count):
        offsets[i] = start
        table[i], start = _item_lengths(data, start, element, order)
    columns: _Columns = {}
    octets = np.frombuffer(data, np.uint8)
    for i, p in enumerate(element.properties):
        if p.count_type is not None:
            offsets = offsets + np.dtype(p.count_type).itemsize
        size = table[:, i] * np.dtype(p.type).itemsize
        values = octets[ranges(offsets, size)].view(order + p.type)
        column = _native(values, None)
        columns[p.name] = _Column(column.values, None if p.count_type is None else table[:, i])
        offsets = offsets + size
    return columns, start


def _positions(columns: _Columns) -> FloatArray:
    if not all(axis in columns and columns[axis].lengths is None for axis in "xyz"):
        raise InputError("the vertices lack x, y or z; check that this is a mesh")
    return np.stack([columns[axis].values for axis in "xyz"], axis=1).astype(np.float64)


def _triangles(columns: _Columns) -> IntArray:
    column = columns.get("vertex_indices", columns.get("vertex_index"))
    if column is None or column.lengths is None:
        raise InputError("the mesh has no faces; a point cloud cannot be used")
    return fan_triangles(whole_numbers(column.values), column.lengths)


def write(
    mesh: TriMesh,
    *,
    scalars: dict[str, FloatArray] | None = None,
    colors: NDArray[np.uint8] | None = None,
) -> bytes:
    """Binary little-endian PLY in double precision, with scalars and colours of the vertices."""
    fields: list[tuple[str, str, NDArray[Any]]] = [
        (axis, "double", mesh.vertices[:, i]) for i, axis in enumerate("xyz")
    ]
    if colors is not None:
        names = ("red", "green", "blue")
        fields += [(name, "uchar", colors[:, i]) for i, name in enumerate(names)]
    fields += [(name, "double", values) for name, values in (scalars or {}).items()]
    points = np.empty(mesh.n_vertices, [(name, "<" + _TYPES[kind]) for name, kind, _ in fields])
    for name, _, values in fields:
        points[name] = values
    faces = np.empty(mesh.n_faces, [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, mesh.faces
    header = [
        "ply",
        "format binary_little_endian 1.0",
        *([f"comment {mark()}"] if mark() else []),
        f"element vertex {mesh.n_vertices}",
        *(f"property {kind} {name}" for name, kind, _ in fields),
        f"element face {mesh.n_faces}",
        "property list uchar int vertex_indices",
        "end_header",
    ]
    return ("\n".join(header) + "\n").encode("ascii") + points.tobytes() + faces.tobytes()
