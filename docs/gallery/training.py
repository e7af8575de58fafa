"""A network learns correspondences.

The steps of `finsler data synthesize`, `finsler prepare` and `finsler train` in Python: five
synthetic people of 500 vertices, operators at two angles, coordinates as features, and a small
network that predicts for each vertex the corresponding vertex of the reference. With so few shapes
and epochs it learns, but is not good. For real use take SHOT, eight angles, and more shapes.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import finsler
from finsler.data import PrepareConfig, prepare, synthetic_collection
from finsler.nn.training import TrainConfig, predict, train
from finsler.view import Camera, Panel, save_figure

people = synthetic_collection("humanoid", train=4, test=1, poses=4, vertices=500)
settings = TrainConfig(
    model="small",
    channels=16,
    order=3,
    hidden=64,
    epochs=12,
    learning_rate=2e-2,
    dropout=0.0,
    device="cpu",
)
with TemporaryDirectory() as folder:
    store = prepare(people, Path(folder) / "store", PrepareConfig(angles=2, descriptor="xyz")).store
    network, about = train(store, Path(folder) / "run", settings)
    answers = predict(network, store, store.test, about=about)

losses = [epoch["loss"] for epoch in about.history]
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}; guessing would be {np.log(500):.2f}")
assert losses[-1] < 0.85 * np.log(500) < losses[0]

[name] = store.test
shape, reference = people[name].mesh, people[people.reference].mesh
truth, area = people[name].labels, finsler.mesh.surface_area(reference)
error = np.linalg.norm(reference.vertices[answers[name]] - reference.vertices[truth], axis=1)
error /= np.sqrt(area)
print(f"unseen person: median error {np.median(error):.2f} √area")
height = reference.vertices[:, 1]
panels = [
    Panel(reference, height, "reference"),
    Panel(shape, height[truth], "unseen person, truth"),
    Panel(shape, height[answers[name]], "prediction"),
]
camera = Camera(direction=(0.2, 0.1, 1.0), tight=True)
save_figure("training.png", [panels], camera=camera, colorbars=False, panel_size=(2.0, 2.2))
