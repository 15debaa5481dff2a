"""The model that the thread ran with last.

A record without a model is said to be so; it is never filled in with a name of ours.
"""

from typing import ClassVar

import msgspec

from resumed.protocol.restore import Drift, Status
from resumed.protocol.threads import ModelView
from resumed.restore.events.envelope import Event, Payload
from resumed.restore.events.session import ModelSet, SessionMeta
from resumed.restore.probes import AnyProbe, Seen
from resumed.restore.steps import RecordState, Step
from resumed.restore.subsystem import Choices, Restoration, Target
from resumed.restore.wording import one_line

OVERRIDES_KEPT = 32


class ModelState(msgspec.Struct, kw_only=True):
    """The model in force. `window` is its context window in tokens; `provider` and `window` of
    `None` were not recorded for this model; `overrides` are its settings, by name."""

    model: str | None = None
    provider: str | None = None
    window: int | None = None
    overrides: dict[str, str] = {}


class Model:
    """See the module."""

    name: ClassVar[str] = "model"
    version: ClassVar[int] = 1
    after: ClassVar[tuple[str, ...]] = ("permissions",)
    handles: ClassVar[tuple[type[Payload], ...]] = (SessionMeta, ModelSet)
    state_type: ClassVar[type[ModelState]] = ModelState

    def initial(self) -> ModelState:
        """Nothing is recorded."""
        return ModelState()

    def apply(self, state: ModelState, event: Event) -> ModelState:
        """Fold one event in. A model that was not named stays; another model keeps nothing of the
        one before it."""
        match event.payload:
            case SessionMeta(model=str(named)):
                _take(state, named)
            case ModelSet() as said:
                if said.model is not None:
                    _take(state, said.model)
                state.provider = said.provider or state.provider
                state.window = state.window if said.window is None else said.window
                if said.overrides:
                    state.overrides = dict(sorted(said.overrides.items())[:OVERRIDES_KEPT])
        return state

    def probes(self, state: ModelState, target: Target) -> tuple[AnyProbe, ...]:
        """Nothing is looked at."""
        return ()

    def drift(self, state: ModelState, seen: Seen, target: Target) -> tuple[Drift, ...]:
        """Nothing is compared."""
        return ()

    def steps(self, state: ModelState, seen: Seen, choices: Choices, target: Target) -> Restoration:
        """Carry the model into the new run."""
        if state.model is None:
            return Restoration(
                status=Status.DEFAULTED,
                reason="the record names no model",
                summary="the agent's own default; the record names none",
            )
        event: dict[str, object] = {
            "model": state.model,
            "cause": "restore",
            "provider": state.provider,
            "window": state.window,
            "overrides": state.overrides,
        }
        by = f" by {state.provider}" if state.provider else ""
        overrides = ", ".join(f"{name} {value}" for name, value in state.overrides.items())
        return Restoration(
            status=Status.RESTORED,
            reason="as recorded",
            summary=one_line(f"{state.model}{by}, as before"),
            details=(one_line(f"with {overrides}", 200),) if overrides else (),
            steps=(
                Step(
                    subsystem=self.name,
                    title="Record the model",
                    do=RecordState(events=(("model_set", event),)),
                ),
            ),
        )

    def view(self, state: ModelState) -> ModelView:
        """The model of the last turn."""
        return ModelView(model=state.model, provider=state.provider, window=state.window)


def _take(state: ModelState, named: str) -> None:
    if named != state.model:
        state.model, state.provider, state.window, state.overrides = named, None, None, {}


MODEL = Model()
