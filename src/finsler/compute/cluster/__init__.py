"""Many independent tasks on one machine or many, with retries, and failures that stop nothing."""

from finsler.compute.cluster.tasks import Outcome, Pool, Workers, opened, run

__all__ = ["Outcome", "Pool", "Workers", "opened", "run"]
