"""Trust in a `config.toml`: somebody at this machine has seen the commands that it holds.

It is kept in the home of whoever trusts, never in the working tree: all that is there can come with a pull, files that
git was told to ignore included, and a repository would vouch for itself.
"""

from __future__ import annotations

import os
from hashlib import sha256

from decapod_py.foundation.errors import Refused
from decapod_py.foundation.files import read_bytes, write_whole


def digest_of(config: str) -> str:
    """The digest of the file's very bytes; any change is another file to trust."""
    return sha256(read_bytes(config) or b"").hexdigest()


def is_trusted(config: str) -> bool:
    noted = read_bytes(_note(config)) or b""
    return noted.split(b" ")[0] == digest_of(config).encode()


def trust(config: str, digest: str) -> None:
    """Trusts the file while its bytes have this digest."""
    note = _note(config)
    os.makedirs(os.path.dirname(note), mode=0o700, exist_ok=True)
    line = f"{digest}  {os.path.realpath(config)}\n"
    write_whole(note, os.fsencode(line), scratch=os.path.dirname(note), mode=0o600)


def revoke(config: str) -> bool:
    """Ends the trust; False where there was none."""
    try:
        os.unlink(_note(config))
    except FileNotFoundError:
        return False
    return True


def _note(config: str) -> str:
    name = sha256(os.fsencode(os.path.realpath(config))).hexdigest()
    return os.path.join(_state_home(), "decapod", "trusted", name)


def _state_home() -> str:
    given = os.environ.get("XDG_STATE_HOME", "")
    home = given if os.path.isabs(given) else os.path.expanduser(os.path.join("~", ".local", "state"))
    if not os.path.isabs(home):  # a path from here would lead into the working tree
        raise Refused("no-home", "there is no home directory to keep the trust in", "set HOME")
    return home
