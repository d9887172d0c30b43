"""What went wrong among a person's machines, in words, with the next step."""

from memoryd.team.rules.problems import TeamProblem

ADD_AGAIN = "on another of your machines: memoryd device add; then here: memoryd device add CODE"


def no_cipher() -> TeamProblem:
    return TeamProblem(
        "syncing your machines needs the package cryptography",
        "pip install 'memoryd[team]', then restart the daemon",
        "driver",
    )


def not_added() -> TeamProblem:
    return TeamProblem("this machine has not been added yet", "memoryd device add", "not-added")


def revoked() -> TeamProblem:
    return TeamProblem(
        "this machine was revoked: it gets nothing and sends nothing any more", ADD_AGAIN, "revoked"
    )


def wrong_key() -> TeamProblem:
    return TeamProblem(
        "the key of this machine is not the one that your machines use on this server",
        f"check team.dsn; if it is right, {ADD_AGAIN}",
        "key",
    )


def wrong_code() -> TeamProblem:
    return TeamProblem(
        "there is no invitation with this code: it was used, has expired, or is for another login",
        "a code works once, for ten minutes; print a new one: memoryd device add, on a machine that"
        " you have already",
        "code",
    )


def others_are_there(count: int) -> TeamProblem:
    have = "another machine" if count == 1 else f"{count} other machines"
    return TeamProblem(
        f"you have {have} on this server already",
        "there: memoryd device add; then here: memoryd device add CODE. If you lost them all:"
        " memoryd device add --start-over, which gives up what only they could read",
        "others",
    )


def rolled_meanwhile() -> TeamProblem:
    return TeamProblem(
        "another of your machines changed the key at the same moment", "try again", "busy"
    )


def left_behind() -> TeamProblem:
    return TeamProblem(
        "the key was changed while this machine was being added, and it was not given the new one",
        ADD_AGAIN,
        "key",
    )
