"""Finds the commands of documents: in code blocks, in inline code, and in the examples of the manual page."""
import glob
import os
import re
import shlex
from dataclasses import dataclass

# What a command starts with. In inline code only the first kind counts: there, a tool's name is more
# often a name than a command.
OURS = re.compile(r"(attend|make)( |$)|(bench|scripts|tests|build[a-z-]*)/[\w.*/-]+( |$)|\S.*\| *attend [a-z]")
TOOLS = re.compile(r"(cmake|ctest|cc|pip|man|awk|head|tail|zcat|printf|echo|cat|cp|mkdir|prepare|python3|for) ")
FUNCTION = re.compile(r"\w+\(\) *\{.*\}$")
BEFORE = re.compile(r"((sudo|nice|env|mpirun -n \d+|[A-Z_]+=\S*) +)*")  # what may stand before a command
NAMED_FILE = re.compile(r"<!-- file: (\S+) -->")
SHELLS = ("", "sh", "bash", "shell", "console")


@dataclass
class Command:
    """A command as a document has it, on one line."""

    document: str
    line: int
    text: str
    block: bool  # in a code block, and so meant to be typed as it is
    prelude: str = ""  # functions that the block defines before it

    def program(self) -> str:
        """The first word that is a program."""
        return BEFORE.sub("", self.text, count=1).split()[0]


@dataclass
class NamedFile:
    """A code block that is the content of a file, by a comment `<!-- file: NAME -->` before it."""

    line: int
    name: str
    text: str


@dataclass
class Document:
    """What a document has to run, in its order."""

    name: str
    items: list[Command | NamedFile]


def joined(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Lines that go on after a backslash, in a here-document or in a loop become one."""
    result: list[tuple[int, str]] = []
    rest = iter(lines)
    for number, line in rest:
        while line.endswith("\\"):
            line = line[:-1].rstrip() + " " + next(rest, (0, ""))[1].strip()
        here = re.search(r"<<-?'?\"?(\w+)", line)
        until = here.group(1) if here else "done" if re.match(r"for .*do$|for [^;]*$", line) else ""
        while until and not re.search(rf"^{until}\b", line.split("\n")[-1]):
            following = next(rest, None)
            if following is None:
                break
            line += "\n" + following[1]
        result.append((number, line))
    return result


def of_block(document: str, lines: list[tuple[int, str]]) -> list[Command]:
    """The commands of a code block. Where lines start with a prompt, all others are output."""
    prompted = any(line.startswith("$ ") for _, line in lines)
    found: list[Command] = []
    prelude = ""
    for number, line in joined(lines):
        if prompted and not line.startswith("$ "):
            continue
        line = line.removeprefix("$ ").strip()
        start = BEFORE.sub("", line, count=1)
        first = start.split()[0] if start else ""
        if FUNCTION.match(line):
            prelude += line + "\n"
        elif not first.endswith("/") and (OURS.match(start) or TOOLS.match(start)):
            found.append(Command(document, number, line, True, prelude))
    return found


def of_prose(document: str, lines: list[tuple[int, str]]) -> list[Command]:
    """The commands of a paragraph's inline code, which may go on in the next line."""
    text = "\n".join(line for _, line in lines)
    found = []
    for match in re.finditer(r"(?<!`)`([^`]+)`(?!`)", text):
        code = " ".join(match.group(1).replace("\\|", "|").split())
        if OURS.match(BEFORE.sub("", code, count=1)):
            number = lines[0][0] + text.count("\n", 0, match.start())
            found.append(Command(document, number, code, False))
    return found


def of_markdown(document: str, text: str) -> list[Command | NamedFile]:
    """Everything to run of a Markdown document, in order."""
    items: list[Command | NamedFile] = []
    paragraph: list[tuple[int, str]] = []
    block: list[tuple[int, str]] | None = None
    language = named = ""
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("```"):
            if block is None:
                items += of_prose(document, paragraph)
                paragraph, block, language = [], [], line.strip("`").strip()
            else:
                if named:
                    items.append(NamedFile(number, named, "".join(part + "\n" for _, part in block)))
                elif language in SHELLS:
                    items += of_block(document, block)
                block, named = None, ""
        elif block is not None:
            block.append((number, line))
        elif NAMED_FILE.match(line):
            named = NAMED_FILE.match(line).group(1)
        elif not line.strip() or line.startswith("|"):
            if paragraph:
                items += of_prose(document, paragraph)
            paragraph = []
            items += of_prose(document, [(number, line)])
        else:
            paragraph.append((number, line))
    return items


def of_manual(document: str, text: str) -> list[Command | NamedFile]:
    """The examples of the manual page."""
    return [Command(document, number, line.removeprefix(".Dl $ "), True)
            for number, line in enumerate(text.splitlines(), 1) if line.startswith(".Dl $ ")]


def documents(root: str) -> list[Document]:
    """All documents of the tree. The change log is about versions of the past."""
    names = [os.path.relpath(name, root) for pattern in ("*.md", "*/*.md", "docs/*.1")
             for name in sorted(glob.glob(os.path.join(root, pattern)))]
    found = []
    for name in dict.fromkeys(names):
        if name == "CHANGELOG.md" or name.startswith("build"):
            continue
        with open(os.path.join(root, name), encoding="utf-8") as file:
            text = file.read()
        found.append(Document(name, of_manual(name, text) if name.endswith(".1") else of_markdown(name, text)))
    return found


def overlooked(root: str, document: Document) -> list[str]:
    """Lines of code blocks that call the program and are not among the commands."""
    with open(os.path.join(root, document.name), encoding="utf-8") as file:
        rows = file.read().splitlines()
    known = "\n".join(item.text for item in document.items)
    found, language = [], None
    for number, row in enumerate(rows, 1):
        if row.startswith("```"):
            language = row.strip("`").strip() if language is None else None
        elif language in SHELLS and re.search(r"(^|[|;&(]) *attend [a-z]+ ", row) and row.strip(" \\").removeprefix("$ ") not in known:
            found.append(f"{document.name}:{number}: {row}")
    return found


def split(text: str) -> list[str]:
    """The words of a command, with operators as words of their own; a comment is left out."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:
        return text.split()
