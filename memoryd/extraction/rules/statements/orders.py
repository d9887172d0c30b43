"""Whether an order is a lasting way of working or only the next step.

People seldom say which. Five signs speak for a lasting order:
- lasting: it holds always, never, for every or any, unless, whenever; some words leave no doubt;
- general: it is about a kind of thing, not about the one at hand ("the", "this", a `name`);
- working: it is about how we work together, not about what the program does;
- reasoned: it says why, after it or in the next sentence;
- in a dispute: it corrects what the assistant did, complains of repetition, or mentions harm.
Three are enough if one of the last three is among them: programs, too, always do something. Two are
enough if something is forbidden or wished for in general; preferring one kind of thing to another
is enough by itself. A request for a piece of work has to be lasting, or in a dispute.
"""

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from memoryd.extraction.rules.statements import order_phrases, phrases

OrderForm = Literal["forbids", "asks", "wants", "wishes", "maxim", "custom"]

_FORMS: tuple[tuple[OrderForm, order_phrases.Form], ...] = (
    ("forbids", order_phrases.FORBIDS),
    ("asks", order_phrases.ASKS),
    ("wants", order_phrases.WANTS),
    ("wishes", order_phrases.WISHES),
    ("maxim", order_phrases.MAXIMS),
    ("custom", order_phrases.CUSTOMS),
)
_ENOUGH_SIGNS = 3


class OrderContext(msgspec.Struct, frozen=True):
    """What surrounds an order: the sentences after and before it, and whether it is a dispute."""

    reason: str = ""
    before: str = ""
    is_dispute: bool = False


NO_CONTEXT = OrderContext()


class Order(msgspec.Struct, frozen=True):
    form: OrderForm
    verb: str
    what: str
    before: str
    condition: str


class Signs(msgspec.Struct, frozen=True):
    """The signs of a lasting order; `lasting` is 2 where it leaves no doubt."""

    lasting: int
    is_general: bool
    is_working: bool
    is_reasoned: bool
    is_dispute: bool

    @property
    def of_people(self) -> int:
        return self.is_working + self.is_reasoned + self.is_dispute

    @property
    def count(self) -> int:
        return self.lasting + self.is_general + self.of_people


def is_lasting_order(said: str, context: OrderContext = NO_CONTEXT) -> bool:
    """Whether a sentence orders a way of working."""
    return any(_is_lasting(order, said, context) for order in _orders_in(said))


def leads_with_lasting_order(said: str, context: OrderContext = NO_CONTEXT) -> bool:
    """Whether it starts with such an order, rather than drawing it from a fact."""
    orders = (order for order in _orders_in(said) if not order.before)
    return any(_is_lasting(order, said, context) for order in orders)


def fact_behind(said: str) -> str:
    """The fact that an order is drawn from ("..., so dont ..."); empty if there is none."""
    drawn = (order.before for order in _orders_in(said) if _follows(order, said))
    return next(drawn, "")


def has_order(said: str) -> bool:
    return any(True for _ in _orders_in(said))


def _orders_in(said: str) -> Iterator[Order]:
    for form, pattern in _FORMS:
        for match in pattern.finditer(said):
            condition = match.groupdict().get("condition") or ""
            before = said[: match.start()]
            order = Order(form, match["verb"], match["what"].strip(), before, condition)
            if not _is_narration(order) and not _is_specified(order):
                yield order


def _is_narration(order: Order) -> bool:
    """Whether "never" or "always" says what happens: "never used it", "always fails"."""
    first = (order.what.split() or [""])[0]
    if order.form == "maxim":
        return bool(order_phrases.SOMEBODY.search(order.what))
    if order.verb.startswith("never"):
        tells = first.endswith(("ed", "s")) and not first.endswith(("ss", "us"))
        return first in order_phrases.TELLS or (
            tells and first not in order_phrases.COMMANDS_ALL_THE_SAME
        )
    return order.verb.startswith(("dont", "do not")) and first in order_phrases.ON_THE_MIND


def _is_specified(order: Order) -> bool:
    """Whether it continues a task, or says what a program should do."""
    return bool(phrases.REQUEST.search(order.before) or phrases.SPECIFIES.search(order.before))


def _is_lasting(order: Order, said: str, context: OrderContext) -> bool:
    signs = _signs_of(order, said, context)
    if signs.count < _ENOUGH_SIGNS or not signs.of_people:
        return signs.is_general and _is_enough_in_general(order, signs, said)
    if order_phrases.IN_THIS.search(order.what) and not context.is_dispute:
        return False
    match order.form:
        case "asks" if _points(order):
            return context.is_dispute and bool(signs.lasting)
        case "asks" if order.verb not in order_phrases.STYLE:
            return bool(signs.lasting) or context.is_dispute
        case "asks":
            return signs.is_general or bool(signs.lasting) or signs.is_dispute
        case "maxim":
            return signs.is_working
        case "custom":
            return signs.is_reasoned and not phrases.STATE_OF_THINGS.search(said)
        case _:
            return True


def _is_enough_in_general(order: Order, signs: Signs, said: str) -> bool:
    """Whether fewer signs will do, since it is about a kind of thing and hardly a task."""
    match order.form:
        case "wishes":
            return signs.is_reasoned
        case "wants":
            prefers = order.verb.startswith(order_phrases.PREFERS)
            return prefers and order_phrases.COMPARES.search(order.what) is not None
        case "forbids":
            is_first = not order.before.strip(" ,")
            is_backed = signs.is_reasoned or signs.is_dispute or order_phrases.WORKING.search(said)
            return is_first and signs.count == _ENOUGH_SIGNS - 1 and bool(is_backed)
        case _:
            return False


def _signs_of(order: Order, said: str, context: OrderContext) -> Signs:
    does_harm = order_phrases.HARM.search(f"{said} {context.reason}")
    why = _why(said)
    is_before = why is not None and why.start() > len(order.before)
    return Signs(
        lasting=_lasting(order, said[: why.start()] if why and is_before else said),
        is_general=_is_general(order),
        is_working=_is_working(order, said),
        is_reasoned=_is_reasoned(order, said, context),
        is_dispute=context.is_dispute or bool(does_harm),
    )


def _lasting(order: Order, said: str) -> int:
    """How strongly a sentence says that it holds for ever, not counting the thing asked for."""
    if order.form == "asks":
        said = said.replace(order.what, order_phrases.INNER_ADVERB.sub("", order.what))
    if order_phrases.FOR_EVER.search(said):
        return 2
    is_only = order.form == "wishes" and order_phrases.ENDS_IN_ONLY.search(said)
    is_any_case = order_phrases.ANY_CASE.match(order.condition)
    return int(
        bool(order_phrases.LASTING.search(said) or _is_habit(order) or is_only or is_any_case)
    )


def _is_general(order: Order) -> bool:
    """Whether it is about a kind of thing; a prohibition shows that in its first words."""
    if order_phrases.ANY_CASE.match(order.condition) or order_phrases.TALK.search(order.what):
        return True
    at_hand = order_phrases.AT_HAND.search(order.what)
    if at_hand and order.form == "forbids" and not order_phrases.IN_THIS.search(order.what):
        return order.what.count(" ", 0, at_hand.start()) > 2
    return bool(order.what) and not at_hand


def _is_working(order: Order, said: str) -> bool:
    asked = order_phrases.POLITELY.sub("", said)
    return bool(order_phrases.WORKING.search(asked)) or _is_craft(order) or _is_habit(order)


def _is_craft(order: Order) -> bool:
    """Whether it is something a programmer does, forbidden or not."""
    action = order.what.split(" ", 1)[0] if order.form == "forbids" else order.verb
    return action in order_phrases.CRAFT


def _is_habit(order: Order) -> bool:
    """Someone who says "stop adding" has seen it more than once."""
    return order.verb in {"stop", "quit", "enough with"} and bool(
        order_phrases.ACTIONS.match(order.what)
    )


def _follows(order: Order, said: str) -> bool:
    return bool(order.before and order_phrases.FOLLOWS.match(said, len(order.before)))


def _why(said: str) -> re.Match[str] | None:
    return phrases.REASON.search(said) or order_phrases.REASON_BEHIND.search(said)


def _is_reasoned(order: Order, said: str, context: OrderContext) -> bool:
    """Whether it says why, and not only which behaviour of a program should change."""
    before = context.before if order.form == "wishes" or context.is_dispute else ""
    why = _why(said)
    fact = order.before if _follows(order, said) else ""
    reason = said[why.start() :] if why else fact or context.reason or before
    return bool(reason) and not (
        phrases.PROGRAM.search(reason) and not order_phrases.WORKING.search(reason)
    )


def _points(order: Order) -> bool:
    """Whether its object is a mere "it", which means the thing at hand."""
    return bool(order_phrases.POINTS.match(order.what)) and not order_phrases.ANY_CASE.match(
        order.condition
    )
