"""Reader of CIFAR-10's Python version, whose file names tell the kind of every object: dump truck, pekingese, moose."""

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np

from tfaudit.datasets.cifar import Columns, numbered_files, planes_to_images, read_cifar
from tfaudit.datasets.local_files import LocalFiles
from tfaudit.errors import InputError, one_line
from tfaudit.runtime.regular_files import open_regular

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

SYNONYMS = """
fighter_aircraft attack_aircraft fighter
jumbo_jet jumbojet
seaplane hydroplane
plane airplane aeroplane
multiengine_airplane multiengine_plane
station_wagon estate_car wagon beach_wagon station_waggon
automobile car auto motorcar machine
police_cruiser cruiser
compact_car compact
taxi cab taxicab
bus jalopy
ostrich struthio_camelus
emu dromaius_novaehollandiae emu_novaehollandiae
skylark alauda_arvensis
meadow_pipit anthus_pratensis
honey_eater honeysucker
flying_bird carinate
flightless_bird ratite ratite_bird
rhea nandu pterocnemia_pennata
hedge_sparrow dunnock prunella_modularis
elephant_bird aepyornis
gamecock fighting_cock
kiwi apteryx
tabby_cat tabby
cat true_cat
domestic_cat house_cat felis_catus felis_domesticus
american_elk wapiti
muntjac barking_deer
roe_deer capreolus_capreolus
elk alces_alces moose european_elk
fallow_deer dama_dama
mule_deer odocoileus_hemionus burro_deer
red_deer cervus_elaphus
sika cervus_sika japanese_deer
deer cervid
woodland_caribou rangifer_caribou
sambar cervus_unicolor sambur
caribou rangifer_tarandus reindeer greenland_caribou
barren_ground_caribou rangifer_arcticus
pekingese pekinese peke
mongrel mutt cur
toy_dog toy
maltese maltese_dog
dog domestic_dog canis_familiaris
crapaud leptodactylus_pentadactylus south_american_bullfrog
toad frog toad_frog anuran
pickerel_frog rana_palustris
leopard_frog rana_pipiens
green_frog spring_frog rana_clamitans
grass_frog rana_temporaria
natterjack bufo_calamita
texas_toad bufo_speciosus
american_green_toad bufo_debilis
bullfrog rana_catesbeiana
true_frog ranid
leptodactylid_frog leptodactylid
european_toad bufo_bufo
american_toad bufo_americanus
tailed_frog tailed_toad ribbed_toad bell_toad
barking_frog robber_frog hylactophryne_augusti
cascades_frog rana_cascadae
southwestern_toad bufo_microscaphus
western_toad bufo_boreas
yosemite_toad bufo_canorus
tarahumara_frog rana_tarahumarae
arabian arab
tennessee_walker tennessee_walking_horse walking_horse plantation_walking_horse
broodmare stud_mare
saddle_horse riding_horse
lipizzan lippizaner lippizan
studhorse stud
mare female_horse
stable_companion stablemate
horse equus_caballus
oil_tanker tanker tank_ship oiler
freighter merchant_ship merchantman
cargo_ship cargo_vessel
tugboat tug
cabin_cruiser pleasure_boat pleasure_craft
motorboat powerboat
barge flatboat
packet_boat mail_boat mailboat packet
container_ship container_vessel containership
ferry ferryboat
norfolk_wherry wherry
liner ocean_liner
outboard_motorboat outboard
cattle_boat cattleship
canal_boat narrow_boat narrowboat
rowboat dinghy
mackinaw_boat mackinaw
lorry camion
dump_truck tipper_truck dumper tipper tipper_lorry tip_truck
trailer_truck trucking_rig tractor_trailer articulated_lorry semi rig
delivery_truck delivery_van panel_truck
aerial_ladder_truck ladder_truck
truck motortruck
fire_truck fire_engine
garbage_truck dustcart
car_transporter transporter
wrecker tow_truck tow_car
pickup pickup_truck
"""
"""Search terms of one meaning according to WordNet 3.0, a line each, beginning with the name used here."""

KIND = {term: line.split()[0] for line in SYNONYMS.split("\n") for term in line.split()}
KIND["cruiser"] = "cruiser"  # automobiles are police cruisers, ships are not


def cifar10_subclass_files(folder: Path, builder: None = None) -> LocalFiles:
    """Read the six files of the Python version, with the keys and ids of TFDS' `cifar10` and therefore in its order.

    The images were found by searching for a word, such as `camion`, which their file names keep. Words with the same
    meaning are one `kind`.

    Args:
        folder: folder with `data_batch_1` to `data_batch_5` and `test_batch`.
        builder: ignored; TFDS has none for this data set.

    Raises:
        InputError: files are missing or damaged.
    """
    columns = read_cifar(folder, _read, "", version="Python")
    kinds = {kind for files in columns.values() for file in files for kind in file["kind"]}
    return numbered_files(cifar10_subclass_features(sorted(kinds)), columns)


def cifar10_subclass_features(kinds: list[str] | None = None) -> Any:
    """Return the TFDS features of an example."""
    import tensorflow_datasets as tfds

    kind = tfds.features.ClassLabel(
        names=kinds or sorted({name.replace("_", " ") for name in KIND.values()})
    )
    image = tfds.features.Image(shape=(32, 32, 3))
    label = tfds.features.ClassLabel(names=CLASSES)
    return tfds.features.FeaturesDict(
        {"id": tfds.features.Text(), "image": image, "label": label, "kind": kind}
    )


def kind_of(file_name: str, label: int) -> str:
    """Return the kind of the object in an image.

    Example:
        >>> kind_of("camion_s_000148.png", 9), kind_of("cruiser_s_000032.png", 1)
        ('lorry', 'police cruiser')
    """
    term = re.sub(r"(_s)?_\d+\.png$", "", file_name)
    police = term == "cruiser" and CLASSES[label] == "automobile"
    return ("police_cruiser" if police else KIND.get(term, term)).replace("_", " ")


ALLOWED = {
    "_reconstruct": np.empty(0).__reduce__()[0],
    "ndarray": np.ndarray,
    "dtype": np.dtype,
}


class _ArraysOnly(pickle.Unpickler):
    """An unpickler that makes NumPy arrays and plain Python values, so that no file can run code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the function or class that makes an array, for files of any version of NumPy."""
        if module.split(".")[0] != "numpy" or name not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ALLOWED[name]


def _read(path: Path) -> Columns:
    """Return the images, uint8 `(N, 32, 32, 3)`, the labels, int64 `(N,)`, and the kinds of one file."""
    try:
        with open_regular(path) as file:
            batch = _ArraysOnly(file, encoding="latin-1").load()
        pixels = planes_to_images(np.asarray(batch["data"]))
        labels = np.asarray(batch["labels"], np.int64)
        named = zip(batch["filenames"], labels, strict=True)
        kinds = [kind_of(name, label) for name, label in named]
        valid = pixels.dtype == np.uint8 and len(pixels) == len(labels)
        in_range = 0 <= labels.min() <= labels.max() <= 9
    except Exception as error:  # a damaged pickle may raise anything
        got = f"an unreadable file ({one_line(error)})"
        raise InputError(str(path), got, "a file of the Python version") from None
    if not (valid and in_range):
        expected = "images (N, 3072) of uint8 and as many labels 0 to 9"
        raise InputError(str(path), "other arrays", expected)
    return {"image": pixels, "label": labels, "kind": kinds}
