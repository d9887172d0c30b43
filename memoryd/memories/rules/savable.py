"""What a memory needs before it is saved, and what is taken out of it."""

import msgspec

from memoryd.base.errors import InvalidInput
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from memoryd.text.masking.mask import presentable


def cleaned(topic: Topic) -> Topic:
    """The topic without secrets and invisible characters."""
    return msgspec.structs.replace(
        topic,
        name=presentable(topic.name),
        description=presentable(topic.description),
        body=presentable(topic.body),
    )


def check_savable(topic: Topic) -> None:
    """InvalidInput if something is missing that every memory has."""
    if not topic.name.strip() or not topic.body.strip():
        raise InvalidInput("a memory needs a name and a body")
    if topic.type is None:
        raise InvalidInput(f"the type of a memory is one of: {', '.join(topics.TYPES)}")
