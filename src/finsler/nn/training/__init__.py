"""Training of correspondence networks: configuration, loop, checkpoints, prediction."""

from finsler.nn.training.checkpoint import About, Checkpoint, load_model, save_checkpoint
from finsler.nn.training.class_maps import class_maps
from finsler.nn.training.config import TrainConfig
from finsler.nn.training.loop import train
from finsler.nn.training.map_prediction import MapModel
from finsler.nn.training.maps import train_maps
from finsler.nn.training.models import MODELS, Domain, Model
from finsler.nn.training.plan import learning_rate
from finsler.nn.training.prediction import predict, predict_together
from finsler.nn.training.samples import Sample, Samples
from finsler.nn.training.stepper import GraphStepper, Stepper, make_optimiser

__all__ = [
    "MODELS",
    "About",
    "Checkpoint",
    "Domain",
    "GraphStepper",
    "MapModel",
    "Model",
    "Sample",
    "Samples",
    "Stepper",
    "TrainConfig",
    "class_maps",
    "learning_rate",
    "load_model",
    "make_optimiser",
    "predict",
    "predict_together",
    "save_checkpoint",
    "train",
    "train_maps",
]
