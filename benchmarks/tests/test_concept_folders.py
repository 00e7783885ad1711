"""Loaders of image folders, on miniature ones."""

import numpy as np
import pytest

from ferl_bench.concepts.folders import KOH_112, N_ATTRIBUTES, load_awa2, load_cub

BIRDS = ["001.Black_footed_Albatross", "002.Laysan_Albatross"]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(str, lines)) + "\n", encoding="utf-8")


@pytest.fixture
def cub(tmp_path):
    """Two birds with three images each, the last for testing; attribute 2 (concept 0) is what they differ in."""
    folder = tmp_path / "CUB_200_2011"
    images = [f"{bird}/{number}.jpg" for bird in BIRDS for number in range(3)]
    numbers = range(1, 7)
    write(folder / "images.txt", [f"{n} {image}" for n, image in zip(numbers, images, strict=True)])
    write(folder / "classes.txt", [f"{n} {bird}" for n, bird in enumerate(BIRDS, 1)])
    write(folder / "image_class_labels.txt", [f"{n} {1 + (n > 3)}" for n in numbers])
    write(folder / "train_test_split.txt", [f"{n} {int(n % 3 != 0)}" for n in numbers])
    write(tmp_path / "attributes.txt", [f"{a} has_part_{a}::red" for a in range(1, N_ATTRIBUTES + 1)])
    labels = []
    for n in numbers:
        for a in range(1, N_ATTRIBUTES + 1):
            present, certainty = int(a == 2 and n > 3), 4
            if (n, a) == (4, 2):
                present, certainty = 0, 1  # the part was hidden
            labels.append(f"{n} {a} {present} {certainty} 1.5")
    labels[0] += " 0 7"  # some lines of the archive have fields too many
    write(folder / "attributes" / "image_attribute_labels.txt", labels)
    return folder


def test_cub_is_read_with_the_concepts_of_koh(cub):
    birds = load_cub(cub)
    assert len(KOH_112) == 112 == len(birds.concept_names) == birds.concepts.shape[1]
    assert KOH_112[0] == 1  # from 0: attribute 2 of the file
    assert birds.concept_names[0] == "has part 2: red"
    assert birds.y.tolist() == [BIRDS[0]] * 3 + [BIRDS[1]] * 3
    assert birds.is_train.tolist() == [True, True, False] * 2
    assert birds.paths[0] == cub / "images" / BIRDS[0] / "0.jpg"


def test_a_part_that_was_hidden_in_cub_is_missing_and_does_not_vote(cub):
    birds = load_cub(cub)
    np.testing.assert_array_equal(birds.concepts[:, 0], [0, 0, 0, np.nan, 1, 1])
    assert birds.class_concepts[BIRDS[0]][0] == 0
    assert birds.class_concepts[BIRDS[1]][0] == 1
    assert load_cub(cub, attributes=None).concepts.shape == (6, N_ATTRIBUTES)
    assert load_cub(cub, attributes=(1,)).concept_names == ("has part 2: red",)


def test_a_folder_that_is_not_cub_is_refused(cub):
    with pytest.raises(FileNotFoundError, match=r"the one that holds images\.txt"):
        load_cub(cub.parent)
    write(cub / "classes.txt", ["albatross"])
    with pytest.raises(ValueError, match="'albatross' is not a number and a text"):
        load_cub(cub)


@pytest.fixture
def awa2(tmp_path):
    write(tmp_path / "classes.txt", ["     1\tantelope", "     2\tgrizzly+bear", "     3\tseal"])
    write(tmp_path / "predicates.txt", ["     1\tblack", "     2\tswims"])
    write(tmp_path / "predicate-matrix-binary.txt", ["0 0", "1 0", "1 1"])
    for name, n_images in (("antelope", 2), ("seal", 1)):
        for number in range(n_images):
            write(tmp_path / "JPEGImages" / name / f"{name}_{number}.jpg", [""])
    return tmp_path


def test_awa2_is_read_and_classes_without_images_stay_in_the_table(awa2):
    animals = load_awa2(awa2)
    assert animals.y.tolist() == ["antelope", "antelope", "seal"]
    assert animals.concept_names == ("black", "swims")
    np.testing.assert_array_equal(animals.concepts, [[0, 0], [0, 0], [1, 1]])
    np.testing.assert_array_equal(animals.class_concepts["grizzly+bear"], [1, 0])
    assert animals.is_train is None


def test_files_of_awa2_that_do_not_belong_together_are_refused(awa2):
    write(awa2 / "predicate-matrix-binary.txt", ["0 0", "1 0"])
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 3 classes and 2 predicates"):
        load_awa2(awa2)


def test_awa2_without_images_is_refused(awa2):
    for image in awa2.glob("JPEGImages/*/*.jpg"):
        image.unlink()
    with pytest.raises(FileNotFoundError, match="holds no images of the classes"):
        load_awa2(awa2)
