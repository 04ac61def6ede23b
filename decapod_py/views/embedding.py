"""The one door to whatever turns a text into a vector, so that texts of one meaning lie close together.

An embedder is optional (`pip install 'decapod-py[semantic]'`), and works from what its package brings: nothing is
fetched, ever. This module imports no numpy until a vector is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from decapod_py.domain.words import STOP_WORDS
from decapod_py.foundation.errors import Refused

if TYPE_CHECKING:
    import numpy as np

    Vectors = np.ndarray[Any, np.dtype[np.float32]]

INSTALL = "pip install 'decapod-py[semantic]'"
_PACKAGE = "wordllama"
_BATCH = 256


class Embedder(Protocol):
    """Turns texts into vectors."""

    name: str  # vectors of another name are not comparable: it changes with whatever changes a vector
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, of length 1; all nought for a text without words."""


def is_installed() -> bool:
    """Whether there is an embedder, without importing it."""
    return _folder() is not None


def refuse_absent() -> None:
    if not is_installed():
        raise Refused("no-semantic", "search by meaning is not installed", INSTALL)


@cache
def load() -> Embedder:
    """The embedder of this machine."""
    refuse_absent()
    try:
        return WordLlama(_folder() or "")
    except (ImportError, OSError, ValueError, KeyError) as problem:
        raise Refused("no-semantic", f"the package {_PACKAGE} cannot be used: {problem}", INSTALL) from problem


def _folder() -> str | None:
    # Not by `importlib.util`, which takes two milliseconds to import, a sixth of a whole search.
    from importlib.machinery import PathFinder

    if _PACKAGE in sys.modules and sys.modules[_PACKAGE] is None:
        return None
    found = PathFinder.find_spec(_PACKAGE)
    return os.path.dirname(found.origin) if found and found.origin else None


class WordLlama:
    """A vector for each part of a word, and their mean for a text: small, quick, and blind to the order of words.

    It reads the weights and the tokenizer of the package and leaves its code alone: that imports an HTTP client,
    fetches what it does not find, and sets up logging for the whole process.
    """

    name = "wordllama/l2_supercat/256/1"
    dimensions = 256

    def __init__(self, folder: str) -> None:
        # Its threads do not survive a fork, and it says so on standard error.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from safetensors import safe_open
        from tokenizers import Tokenizer

        tokenizer = os.path.join(folder, "tokenizers", "l2_supercat_tokenizer_config.json")
        weights = os.path.join(folder, "weights", "l2_supercat_256.safetensors")
        for path in (tokenizer, weights):
            if not os.path.isfile(path):
                raise FileNotFoundError(f"{path} is missing")
        self._tokenizer = Tokenizer.from_file(tokenizer)
        with safe_open(weights, framework="np") as file:
            self._weights = file.get_tensor("embedding.weight")

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = [_telling(text) for text in texts[start : start + _BATCH]]
            encoded = self._tokenizer.encode_batch(batch, add_special_tokens=False)
            for place, tokens in enumerate(encoded, start):
                if tokens.ids:
                    vectors[place] = self._weights[tokens.ids].mean(axis=0, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


def _telling(text: str) -> str:
    """Without the words that every text has: in a mean they only draw all texts together."""
    parts = text.split()
    return " ".join([part for part in parts if part.lower().strip(".,;:?!`'\"()") not in STOP_WORDS] or parts)
