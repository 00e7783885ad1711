"""How long answers of the service take, beside a service of scikit-learn's tree that gives probabilities alone.

Starts both on loopback, one after the other, and sends requests of one row over one connection::

    pip install fastapi uvicorn psutil
    python examples/service/load_test.py --requests 1000
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import socket
import time
from typing import Any

import numpy as np
import psutil
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field, create_model
from service import column_types, create_app
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLClassifier

WARM_UP = 50


class TreeAnswer(BaseModel):
    """What a plain tree says."""

    label: str
    probability: list[float]


def create_tree_app(tree: Any, types: dict[str, Any]) -> FastAPI:
    """Make a service of scikit-learn's tree, with the same checks of rows."""
    row_type: Any = create_model(
        "Row",
        **{f"f{j}": (kind | None, Field(default=None, alias=name)) for j, (name, kind) in enumerate(types.items())},
    )
    app = FastAPI()

    def answers(rows: list[row_type]) -> list[TreeAnswer]:
        table = np.array([list(row.model_dump(by_alias=True).values()) for row in rows], dtype=float)
        probability = tree.predict_proba(table)
        labels = tree.classes_[probability.argmax(axis=1)]
        return [TreeAnswer(label=label, probability=list(p)) for label, p in zip(labels, probability, strict=True)]

    answers.__annotations__ = {"rows": list[row_type], "return": list[TreeAnswer]}
    app.post("/answers")(answers)
    return app


def serve(kind: str, port: int) -> None:
    """Fit a model of tumours and serve it."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    clf = FERLClassifier(random_state=0).fit(X, y)
    if kind == "ferl":
        app = create_app(clf)
    else:
        app = create_tree_app(DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), y), column_types(clf))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def milliseconds(kind: str, n_requests: int, address: str = "/answers") -> tuple[np.ndarray[Any, Any], float]:
    """Return how long each request took, and how long the service's process worked for one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(kind, port), daemon=True)
    server.start()
    try:
        wait_for(port, server)
        data = load_breast_cancer()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        taken = []
        process, worked = psutil.Process(server.pid), 0.0
        for k in range(WARM_UP + n_requests):
            if k == WARM_UP:
                worked = sum(process.cpu_times()[:2])
            row = dict(zip(data.feature_names.tolist(), data.data[k % len(data.data)].tolist(), strict=True))
            body = json.dumps([row])
            start = time.perf_counter()
            connection.request("POST", address, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
            taken.append(time.perf_counter() - start)
            if response.status != 200:
                raise SystemExit(f"the service of {kind} answered {response.status}: {content[:500]!r}")
        worked = sum(process.cpu_times()[:2]) - worked
        return 1000 * np.array(taken[WARM_UP:]), 1000 * worked / n_requests
    finally:
        server.terminate()
        server.join()


def wait_for(port: int, server: Any, seconds: float = 60.0) -> None:
    """Wait until the service takes connections."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.is_alive():
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit(f"the service did not start within {seconds:.0f} s")


def main(n_requests: int) -> None:
    """Print the table."""
    result = {
        "scikit-learn's tree": milliseconds("tree", n_requests),
        "ferl: sets and novelty": milliseconds("ferl", n_requests, "/answers?reasons=0"),
        "ferl: and four reasons": milliseconds("ferl", n_requests),
    }
    tree, tree_work = result["scikit-learn's tree"]
    print(f"{n_requests} requests of one row of 30 features: milliseconds, and as multiples of the tree's")
    print(f"{'':24}{'p50':>8}{'p99':>8}{'work':>8}{'p50':>8}{'p99':>8}{'work':>8}")
    for name, (taken, work) in result.items():
        times = [*np.quantile(taken, (0.5, 0.99)), work]
        ratios = np.array(times) / [*np.quantile(tree, (0.5, 0.99)), tree_work]
        print(f"{name:24}" + "".join(f"{value:8.2f}" for value in [*times, *ratios]))
    print("work: time of the processor in the service, which does not depend on what else the machine does")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000)
    main(parser.parse_args().requests)
