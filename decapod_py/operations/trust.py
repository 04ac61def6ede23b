"""`decapod trust`: lets the commands of config.toml run on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decapod_py.domain.text import is_agent
from decapod_py.foundation.errors import Call, Refused
from decapod_py.foundation.files import read_bytes
from decapod_py.gates.proving import config_of, refuse_hooks_and_agents
from decapod_py.operations.catalogue import operation
from decapod_py.storage import trust as trusting
from decapod_py.workspace import FOLDER

if TYPE_CHECKING:
    from decapod_py.operations.requests import Trust
    from decapod_py.operations.shapes import Trusted
    from decapod_py.workspace import Workspace


@operation(writes=True, idempotent=True, tool=False)
def trust(workspace: Workspace, request: Trust) -> Trusted:
    """Let the proofs of .decapod/config.toml run on this machine, as the file is now.

    Read the commands it prints: they run as you. Any change of the file ends the trust, one that comes with a pull too.
    """
    refuse_hooks_and_agents(workspace)
    config = config_of(workspace)
    if request.revoke:
        return {"trusted": False, "changed": trusting.revoke(config), "config": config, "sha256": None, "proofs": []}
    if is_agent(workspace.actor()):
        raise Refused("agent-approves", "agents propose, people approve", "let a person look at the commands")
    if read_bytes(config) is None:
        raise Refused("no-config", f"there is no {FOLDER}/config.toml", Call("init"))
    digest, before = trusting.digest_of(config), trusting.is_trusted(config)
    proofs = [{"name": proof.name, "run": proof.run} for proof in workspace.policy.proofs]
    if trusting.digest_of(config) != digest:
        raise Refused("changed-meanwhile", f"{FOLDER}/config.toml changed while it was read", Call("trust"))
    trusting.trust(config, digest)
    return {
        "trusted": True,
        "changed": not before,
        "config": config,
        "sha256": digest,
        "proofs": proofs,  # type: ignore[typeddict-item]
    }
