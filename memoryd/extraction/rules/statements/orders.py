"""Whether an order is meant for keeps, as a way of working, or is only the next step.

People seldom say which. Five signs speak for keeps:
- lasting: it holds always, never, for every or any, unless, whenever; some words leave no doubt;
- general: it is about a kind of thing, not about the one at hand ("the", "this", a `name`);
- working: it is about how we work with each other, not about what the program does;
- reasoned: it says why, behind it or in the next sentence;
- in a quarrel: it corrects what the assistant did, complains of a repetition, or tells of harm.
Three are enough, if one of the last three is among them: programs, too, always do something. Two
are, where something is forbidden or wished for in general; who prefers one kind of thing to another
has said enough. What asks for a piece of work has to be lasting, or in a quarrel.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from memoryd.extraction.rules.statements import order_phrases as data
from memoryd.extraction.rules.statements import phrases

OrderForm = Literal["forbids", "asks", "wants", "wishes", "maxim", "custom"]

_MANNERS: tuple[tuple[OrderForm, data.Form], ...] = (
    ("forbids", data.FORBIDS),
    ("asks", data.ASKS),
    ("wants", data.WANTS),
    ("wishes", data.WISHES),
    ("maxim", data.MAXIMS),
    ("custom", data.CUSTOMS),
)
_ENOUGH = 3


class Setting(msgspec.Struct, frozen=True):
    """What stands around an order: what was said behind and before it, and whether in a quarrel."""

    reason: str = ""
    before: str = ""
    is_quarrel: bool = False


ALONE = Setting()


class Order(msgspec.Struct, frozen=True):
    manner: OrderForm
    verb: str
    what: str
    before: str
    condition: str


class Signs(msgspec.Struct, frozen=True):
    """What speaks for keeps; `lasting` counts twice where it leaves no doubt."""

    lasting: int
    is_general: bool
    is_working: bool
    is_reasoned: bool
    is_quarrel: bool

    @property
    def of_people(self) -> int:
        return self.is_working + self.is_reasoned + self.is_quarrel

    @property
    def count(self) -> int:
        return self.lasting + self.is_general + self.of_people


def is_for_keeps(said: str, setting: Setting = ALONE) -> bool:
    """Whether a sentence orders a way of working."""
    return any(_has_weight(order, said, setting) for order in _orders_in(said))


def leads_for_keeps(said: str, setting: Setting = ALONE) -> bool:
    """Whether it does so first of all, and not as what follows from a fact."""
    orders = (order for order in _orders_in(said) if not order.before)
    return any(_has_weight(order, said, setting) for order in orders)


def fact_behind(said: str) -> str:
    """The fact that an order for keeps is drawn from ("..., so dont ..."), if it is."""
    drawn = (order.before for order in _orders_in(said) if _follows(order, said))
    return next(drawn, "")


def has_order(said: str) -> bool:
    return any(True for _ in _orders_in(said))


def _orders_in(said: str) -> Iterator[Order]:
    for manner, form in _MANNERS:
        for match in form.finditer(said):
            condition = match.groupdict().get("condition") or ""
            before = said[: match.start()]
            order = Order(manner, match["verb"], match["what"].strip(), before, condition)
            if not _is_told(order) and not _is_specified(order):
                yield order


def _is_told(order: Order) -> bool:
    """Whether "never" or "always" tells what happens: "never used it", "always fails"."""
    first = (order.what.split() or [""])[0]
    if order.manner == "maxim":
        return bool(data.SOMEBODY.search(order.what))
    if order.verb.startswith("never"):
        tells = first.endswith(("ed", "s")) and not first.endswith(("ss", "us"))
        return first in data.TELLS or (tells and first not in data.COMMANDS_ALL_THE_SAME)
    return order.verb.startswith(("dont", "do not")) and first in data.ON_THE_MIND


def _is_specified(order: Order) -> bool:
    """Whether it goes on with a task, or with what a program shall do."""
    return bool(phrases.REQUEST.search(order.before) or phrases.SPECIFIES.search(order.before))


def _has_weight(order: Order, said: str, setting: Setting) -> bool:
    signs = _signs_of(order, said, setting)
    if signs.count < _ENOUGH or not signs.of_people:
        return signs.is_general and _is_enough_in_general(order, signs, said)
    if data.IN_THIS.search(order.what) and not setting.is_quarrel:
        return False
    match order.manner:
        case "asks" if _points(order):
            return setting.is_quarrel and bool(signs.lasting)
        case "asks" if order.verb not in data.STYLE:
            return bool(signs.lasting) or setting.is_quarrel
        case "asks":
            return signs.is_general or bool(signs.lasting) or signs.is_quarrel
        case "maxim":
            return signs.is_working
        case "custom":
            return signs.is_reasoned and not phrases.STATE_OF_THINGS.search(said)
        case _:
            return True


def _is_enough_in_general(order: Order, signs: Signs, said: str) -> bool:
    """Whether fewer signs do, as it is about a kind of thing and could hardly be a task."""
    match order.manner:
        case "wishes":
            return signs.is_reasoned
        case "wants":
            prefers = order.verb.startswith(data.PREFERS)
            return prefers and data.COMPARES.search(order.what) is not None
        case "forbids":
            is_first = not order.before.strip(" ,")
            is_meant = signs.is_reasoned or signs.is_quarrel or data.WORKING.search(said)
            return is_first and signs.count == _ENOUGH - 1 and bool(is_meant)
        case _:
            return False


def _signs_of(order: Order, said: str, setting: Setting) -> Signs:
    does_harm = data.HARM.search(f"{said} {setting.reason}")
    why = _why(said)
    is_before = why is not None and why.start() > len(order.before)
    return Signs(
        lasting=_lasting(order, said[: why.start()] if why and is_before else said),
        is_general=_is_general(order),
        is_working=_is_working(order, said),
        is_reasoned=_is_reasoned(order, said, setting),
        is_quarrel=setting.is_quarrel or bool(does_harm),
    )


def _lasting(order: Order, said: str) -> int:
    """How much a sentence says that it holds for ever; not what is asked for, of itself."""
    if order.manner == "asks":
        said = said.replace(order.what, data.INNER_ADVERB.sub("", order.what))
    if data.FOR_EVER.search(said):
        return 2
    is_only = order.manner == "wishes" and data.ENDS_IN_ONLY.search(said)
    is_any_case = data.ANY_CASE.match(order.condition)
    return int(bool(data.LASTING.search(said) or _is_habit(order) or is_only or is_any_case))


def _is_general(order: Order) -> bool:
    """Whether it is about a kind of thing; what is forbidden says so in its first words."""
    if data.ANY_CASE.match(order.condition) or data.TALK.search(order.what):
        return True
    at_hand = data.AT_HAND.search(order.what)
    if at_hand and order.manner == "forbids" and not data.IN_THIS.search(order.what):
        return order.what.count(" ", 0, at_hand.start()) > 2
    return bool(order.what) and not at_hand


def _is_working(order: Order, said: str) -> bool:
    asked = data.POLITELY.sub("", said)
    return bool(data.WORKING.search(asked)) or _is_craft(order) or _is_habit(order)


def _is_craft(order: Order) -> bool:
    """Whether it is done with the hands of one who writes programs, forbidden or not."""
    deed = order.what.split(" ", 1)[0] if order.manner == "forbids" else order.verb
    return deed in data.CRAFT


def _is_habit(order: Order) -> bool:
    """Who says "stop adding" has seen it more than once."""
    return order.verb in {"stop", "quit", "enough with"} and bool(data.DEEDS.match(order.what))


def _follows(order: Order, said: str) -> bool:
    return bool(order.before and data.FOLLOWS.match(said, len(order.before)))


def _why(said: str) -> re.Match[str] | None:
    return phrases.REASON.search(said) or data.REASON_BEHIND.search(said)


def _is_reasoned(order: Order, said: str, setting: Setting) -> bool:
    """Whether it says why, and not only what a program does that it is to be changed for."""
    before = setting.before if order.manner == "wishes" or setting.is_quarrel else ""
    why = _why(said)
    fact = order.before if _follows(order, said) else ""
    reason = said[why.start() :] if why else fact or setting.reason or before
    return bool(reason) and not (phrases.PROGRAM.search(reason) and not data.WORKING.search(reason))


def _points(order: Order) -> bool:
    """Whether its object is a mere "it", which stands for something at hand."""
    return bool(data.POINTS.match(order.what)) and not data.ANY_CASE.match(order.condition)
