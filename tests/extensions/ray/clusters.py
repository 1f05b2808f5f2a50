"""A Ray cluster of several simulated nodes on this machine."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import ray
from ray.cluster_utils import Cluster

NODE = {"num_cpus": 2, "object_store_memory": 100_000_000}
"""Arguments of `add_node` for an ordinary node."""


@contextlib.contextmanager
def ray_cluster(**head: Any) -> Iterator[Cluster]:
    """Start a cluster of one node and connect to it; other nodes are added with `add_node(**NODE)`."""
    os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
    cluster = Cluster(
        initialize_head=True, head_node_args={**NODE, "include_dashboard": False, **head}
    )
    try:
        ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
