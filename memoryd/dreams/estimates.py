"""What the next dream of a target would read and cost, from the sizes of its memories. Blocking."""

import msgspec

from memoryd.base.config import Price
from memoryd.dreams.rules.news import Estimate, estimate
from memoryd.dreams.target import DreamTarget
from memoryd.memories.store import Store


class ModelPrice(msgspec.Struct, frozen=True):
    """What a model charges, and where a run with it ends."""

    price: Price
    most_usd: float


class DreamEstimates:
    """Without a `model`, dreams are by rules and cost nothing."""

    def __init__(self, store: Store, model: ModelPrice | None) -> None:
        self._store = store
        self._model = model

    def of(self, target: DreamTarget, since: float) -> Estimate:
        found = [one for one in self._store.scan(target.directory) if not one.retired]
        if self._model is None:
            return Estimate("embedded", len(found), len(found))
        sizes = [(one.modified, one.bytes) for one in found]
        return estimate(sizes, since, self._model.price, self._model.most_usd)
