"""The six tools as they are described to a model: names, inputs and texts, equal in every job."""

from typing import Annotated, Final

import msgspec

from memoryd.llm.rules.messages import ToolDefinition

LineNumber = Annotated[int, msgspec.Meta(ge=0)]


class ReadInput(msgspec.Struct, frozen=True):
    file_path: str
    offset: LineNumber | None = None
    limit: LineNumber | None = None


class GrepInput(msgspec.Struct, frozen=True):
    pattern: str
    path: str | None = None
    glob: str | None = None


class GlobInput(msgspec.Struct, frozen=True):
    pattern: str
    path: str | None = None


class BashInput(msgspec.Struct, frozen=True):
    command: str


class WriteInput(msgspec.Struct, frozen=True):
    file_path: str
    content: str


class EditInput(msgspec.Struct, frozen=True):
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


DEFINITIONS: Final = (
    ToolDefinition(
        "Read",
        "Read a text file of the project or of a memory directory, with line numbers. `offset` is"
        " the first line, `limit` how many. A relative path is looked for in the memory directory"
        " first, then in the project. Transcripts cannot be read, only searched with Grep.",
        ReadInput,
        "file_path",
    ),
    ToolDefinition(
        "Grep",
        "Find lines by a regular expression (Python's syntax; (?i) ignores case). `path` is a file"
        " or a folder, by default the memory directory; `glob` limits the files, such as *.md.",
        GrepInput,
        "path",
    ),
    ToolDefinition(
        "Glob",
        "List files by a pattern such as **/*.md. `path` is the folder to start from, by default"
        " the memory directory.",
        GlobInput,
        "pattern",
    ),
    ToolDefinition(
        "Bash",
        "Run one simple command that reads, starting in the project: ls, find, grep, cat, stat, wc,"
        " head or tail. There is no shell: no pipes, lists, redirections, variables or wildcards.",
        BashInput,
        "command",
    ),
    ToolDefinition(
        "Write",
        "Write a whole memory, header and text, to a .md file in the memory directory of this job."
        " To replace a file that exists, Read it first. Files cannot be deleted: to retire one,"
        " name it in a `supersedes:` line in the header of the memory that takes its place.",
        WriteInput,
        "file_path",
    ),
    ToolDefinition(
        "Edit",
        "Replace `old_string`, which must occur exactly once, in a memory that you have Read; with"
        " `replace_all`, every occurrence. Copy it without the line numbers.",
        EditInput,
        "file_path",
    ),
)
