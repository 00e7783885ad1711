"""The detector that torch trains, and what is said where torch is missing."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

from ferl.concepts import ConceptBottleneckFERL
from ferl_bench.concepts.torch_detector import TorchDetector, resnet50_detector

NEEDS_TORCH = "torch is not installed (pip install './benchmarks[torch]')"


def rows(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    concepts = (rng.random((n_rows, 3)) < 0.5).astype(float)
    mixing = np.random.default_rng(9).normal(size=(3, 6))
    return concepts @ mixing + rng.normal(0, 0.3, (n_rows, 6)), concepts


def test_without_torch_the_detector_says_what_to_install_and_the_rest_works():
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Missing())
import numpy as np
from ferl.concepts import ConceptBottleneckFERL
from ferl_bench.concepts.torch_detector import TorchDetector
X, y = np.repeat(np.eye(2), 10, axis=0), np.repeat([0, 1], 10)
assert ConceptBottleneckFERL(class_concepts=np.eye(2)).fit(X, y).score(X, y) == 1
try:
    TorchDetector().fit(X, X)
except ModuleNotFoundError as error:
    print(error)
"""
    stdout = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install './benchmarks[torch]'" in stdout
    assert "work without it" in stdout


def test_the_package_is_imported_without_torch():
    code = "import sys, ferl.concepts; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_network_learns_concepts_and_repeats_itself():
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    X, concepts = rows()
    X_new, concepts_new = rows(seed=1)
    detector = TorchDetector(hidden=32, learning_rate=0.02, random_state=0).fit(X, concepts)
    probability = detector.predict_proba(X_new)
    assert ((probability > 0.5) == concepts_new).mean() > 0.9
    assert detector.losses_.argmin() == detector.n_epochs_ - 1
    np.testing.assert_array_equal(clone(detector).fit(X, concepts).predict_proba(X_new), probability)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).predict_proba(X_new), probability)
    assert detector.predict_proba(X[:0]).shape == (0, 3)


def test_training_stops_early_and_leaves_the_random_numbers_of_others_alone():
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 20)), (rng.random((200, 2)) < 0.5).astype(float)
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    detector = TorchDetector(epochs=100, patience=2, random_state=0).fit(X, noise)
    assert torch.equal(torch.rand(3), expected)
    assert len(detector.losses_) < 100  # there is nothing to learn
    assert len(TorchDetector(epochs=3, validation=0, random_state=0).fit(X, noise).losses_) == 0


def test_unknown_concept_labels_are_left_out_of_the_loss():
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    X, concepts = rows()
    hidden = concepts.copy()
    hidden[np.random.default_rng(5).random(hidden.shape) < 0.5] = np.nan
    detector = TorchDetector(hidden=32, learning_rate=0.02, random_state=0).fit(X, hidden)
    assert ((detector.predict_proba(X) > 0.5) == concepts).mean() > 0.9


def test_a_network_of_the_users_is_trained_in_a_copy():
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    X, concepts = rows()
    images = np.repeat(X, 4, axis=1).reshape(len(X), 1, 6, 4)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 3))
    before = module[0].weight.clone()
    y = concepts @ [1, 2, 4]
    model = ConceptBottleneckFERL(TorchDetector(module, learning_rate=1e-2), cv=3, random_state=0)
    model.fit(images, y, concepts)
    assert torch.equal(module[0].weight, before)
    assert model.score(images, y) > 0.7


def test_rows_can_be_anything_that_inputs_reads():
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    X, concepts = rows()
    asked = set()

    def read(numbers, training):
        asked.add(training)
        return torch.tensor(X[np.asarray(numbers)], dtype=torch.float32)

    detector = TorchDetector(lambda shape, n: torch.nn.Linear(*shape, n), inputs=read, learning_rate=0.05)
    probability = detector.fit(np.arange(len(X)), concepts).predict_proba(np.arange(len(X)))
    assert ((probability > 0.5) == concepts).mean() > 0.9
    assert asked == {True, False}


def test_a_bar_shows_the_epochs(capsys):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    TorchDetector(epochs=2, verbose=1).fit(*rows(50))
    assert "training the detector" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("parameters", "shape", "message"),
    [
        ({}, (20, 2, 2), "rows of features are needed. Pass a module"),
        ({"validation": 0.99}, (20, 2), "leaves none to train on"),
        ({"dropout": 1.0}, (20, 2), "dropout"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_a_remedy(parameters, shape, message):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    with pytest.raises(ValueError, match=message):
        TorchDetector(**parameters).fit(np.zeros(shape), np.zeros((20, 1)))


def test_the_image_recipe_says_when_torchvision_is_missing(monkeypatch):
    pytest.importorskip("torch", reason=NEEDS_TORCH)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(ModuleNotFoundError, match="pip install torchvision"):
        resnet50_detector().fit(["a.png"] * 4, np.eye(4)[:, :2])


def test_the_image_recipe_learns_from_files(tmp_path):
    torch = pytest.importorskip("torch", reason=NEEDS_TORCH)
    try:
        from torchvision.io import write_png
    except (ImportError, RuntimeError) as error:  # a build for another torch raises the latter
        pytest.skip(f"torchvision is not installed, or not for this torch: {error}")

    paths = []
    for number in range(8):
        image = torch.zeros(3, 40, 48, dtype=torch.uint8)
        image[number % 2] = 250  # red or green
        paths.append(tmp_path / f"{number}.png")
        write_png(image, str(paths[-1]))
    concepts = np.tile([[1.0, 0.0], [0.0, 1.0]], (4, 1))
    detector = resnet50_detector(weights=None, size=32, epochs=2, batch_size=4, validation=0, random_state=0)
    probability = detector.fit(paths, concepts).predict_proba(paths)
    assert probability.shape == (8, 2)
    np.testing.assert_allclose(probability[:2], probability[2:4], atol=1e-6)  # the same images, not augmented
