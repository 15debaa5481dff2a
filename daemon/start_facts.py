"""What the start of a run puts on record: where it is, what it may do, its model, its agent."""

import os

from resumed.daemon.live import Live
from resumed.protocol.sessions import PermissionsInfo, SessionStartParams
from resumed.restore.events.envelope import Payload
from resumed.restore.events.session import EnvironmentSeen, ModelSet, PermissionsSet, WorktreeBound
from resumed.restore.permission_grant import PermissionsState
from resumed.restore.probes import CeilingSeen, RepositorySeen


def bound(seen: RepositorySeen, cwd: str, cause: str) -> WorktreeBound:
    """The run is in this folder of that repository."""
    return WorktreeBound(
        cwd=cwd,
        cause=cause,
        session_root=os.path.relpath(cwd, seen.top_level),
        root=seen.top_level,
        worktree_id=seen.worktree_id,
        branch=seen.branch,
        sha=seen.sha,
    )


def first_facts(params: SessionStartParams, place: WorktreeBound, ceiling: CeilingSeen) -> list[Payload]:
    """What a new run begins with."""
    facts: list[Payload] = [place]
    if params.permissions is not None:
        facts.append(_permissions(params.permissions, ceiling))
    if params.model is not None:
        facts.append(ModelSet(model=params.model, provider=params.provider, cause="start"))
    if params.agent.version:
        facts.append(EnvironmentSeen(agent_version=params.agent.version))
    return facts


def later_facts(
    live: Live, params: SessionStartParams, place: WorktreeBound, ceiling: CeilingSeen
) -> list[Payload]:
    """What the agent that takes a run up says, as far as it is not on record already."""
    facts: list[Payload] = []
    if place.cwd != live.place.cwd:
        facts.append(place)
    said, known = params.permissions, live.state("permissions")
    if said is not None and not _holds(said, known):
        facts.append(_permissions(said, ceiling))
    model = live.state("model")
    if params.model is not None and (params.model, params.provider or model.provider) != (
        model.model,
        model.provider,
    ):
        facts.append(ModelSet(model=params.model, provider=params.provider, cause="start"))
    if params.agent.version and params.agent.version != live.state("environment").version:
        facts.append(EnvironmentSeen(agent_version=params.agent.version))
    return facts


def _permissions(said: PermissionsInfo, ceiling: CeilingSeen) -> PermissionsSet:
    return PermissionsSet(
        cause="start",
        approval=said.approval,
        sandbox=said.sandbox,
        profile=said.profile,
        mode=said.mode,
        ceiling_approval=ceiling.approval,
        ceiling_sandbox=ceiling.sandbox,
    )


def _holds(said: PermissionsInfo, known: PermissionsState) -> bool:
    given = (said.approval, said.sandbox, said.profile or known.profile, said.mode)
    return given == (known.approval, known.sandbox, known.profile, known.mode)
