"""The files that an import reads: what each is called for good, and how an entry cites it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import quote

from decapod_py.domain.provenance import check_provenance
from decapod_py.foundation.errors import Misused

if TYPE_CHECKING:
    from decapod_py.workspace import Workspace


class Originals:
    """The files below one folder, inside the repository or outside."""

    def __init__(self, workspace: Workspace, folder: str, called: str | None = None) -> None:
        self._schemes = workspace.policy.schemes
        top, real = os.path.realpath(workspace.root), os.path.realpath(folder)
        self.inside = real == top or real.startswith(top + os.sep)
        if called and self.inside:
            raise Misused("bad-name", "what lies in the repository is called after its place there", "leave --name out")
        # Outside it is called after its folder alone: where that lies on somebody's machine is nobody else's business,
        # and the same folder is the same wherever it is imported.
        inner = os.path.relpath(real, top) if self.inside else called or os.path.basename(real)
        self._prefix = "" if inner in (".", "") else inner.replace(os.sep, "/") + "/"

    def name(self, path: str) -> str:
        """What a file is called: from the repository's top, or from the folder that is imported."""
        return _composed(self._prefix + path)

    def provenance(self, path: str, fragment: str = "") -> str:
        """A citation of the file, which is anchored where it lies inside the repository."""
        written = self._prefix + path
        if self.inside and "#" not in written:
            try:
                return check_provenance(f"file:{written}{fragment}", self._schemes)
            except Misused:
                pass  # no citation can name such a file, but an address can
        address = quote(written, safe="/", errors="surrogateescape")
        return check_provenance(f"url:file:{address}{fragment}", self._schemes)


def _composed(text: str) -> str:
    """One spelling for a name that systems write in two."""
    return text if text.isascii() else normalize("NFC", text)
