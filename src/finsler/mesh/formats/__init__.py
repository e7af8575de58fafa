"""Mesh file formats, one a module: `read` turns bytes into a mesh, `write` a mesh into bytes.

Their errors are sentences without the path; [`load_mesh`][finsler.mesh.io.load_mesh] adds it.
"""
