"""prose.py FILE...: sentences of comments and pages that break the rules below, one a line.

The exit status is 1 if there is one. Code, tables, links and formulas are left out of pages; shell files
have comments that begin with #."""

import re
import sys

WORDS = 32  # of a sentence

# A comment or a paragraph whose first word stands for a noun, or is no noun.
BEGINNINGS = "of those that it they where what as and but or nor so then else which whose".split()

# Phrases that stand for a noun, or mean something else to most readers, and what to write.
PHRASES = {
    r"th(at|ose) of": "repeat the noun",
    r"so many": "n, or the number of",
    r"as many \w* ?as": "n, or the number of",
    r"in hand": "current, or name it",
    r"but for": "except",
    r"tells?|told|telling": "report, say, give",
    r"desks?": "workspace",
    r"deals? out|dealt|dealing": "partition, shuffle, distribute",
    r"growing(?! mode|:)": "growable",
    r"row past|pasts?": "history",
    r"where (it|they|there|this|that|these|those|a|an|no|one|any|some|all|each|every)\b(?! (is|are) (kept|stored|read|written))": "if, or when",
    r"lacks?|lacking": "has no, needs, is missing",
    r"a (row|mode|rank|nonzero|sweep|batch|line|component|entry|cell|node|GPU|block|copy|thread|file) (each|apiece)": "one per ...",
    r"room": "memory, space, folder",
    r"hence|thus|whence|thereof|therein|wherein|whereof": "plain words",
}
# "past" as a preposition is English.
ALLOWED = re.compile(r"past (the|its|a|an|\d|end|it|this)\b|room for")


def sentences(text):
    """Pieces of text that end with . ! ? or a colon before a capital; abbreviations do not end one."""
    text = re.sub(r"\b(e\.g|i\.e|cf|vs|etc|al|Fig|Sec|No|pp|Proc|Trans|J|Int|Conf)\.", r"\1", text)
    return [s for s in re.split(r"(?<=[.!?;:])\s+", text) if s]


def block_comments(source):
    """(line, text) of each comment of C or CUDA; // lines that follow each other are one."""
    out = []
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.S)
    for match in pattern.finditer(source):
        token = match.group()
        if not token.startswith("/"):
            continue
        line = source.count("\n", 0, match.start()) + 1
        alone = source[: match.start()].rsplit("\n", 1)[-1].strip() == ""
        if token.startswith("//"):
            text = token[2:].strip()
            if out and out[-1][3] == line - 1 and out[-1][2] == "//" and alone:
                out[-1] = (out[-1][0], out[-1][1] + "\n" + text, "//", line)
                continue
            out.append((line, text, "//", line))
        else:
            text = "\n".join(re.sub(r"^\s*\*? ?", "", part) for part in token[2:-2].split("\n"))
            out.append((line, text, "/*", line))
    return [(line, text) for line, text, _, _ in out]


def hash_comments(source):
    out = []
    last = -1
    for number, line in enumerate(source.split("\n"), 1):
        match = re.match(r"\s*#(?!!)\s?(.*)", line)
        if not match or re.match(r"shellcheck |---", match.group(1)):
            continue
        if last == number - 1:
            out[-1] = (out[-1][0], out[-1][1] + "\n" + match.group(1))
        else:
            out.append((number, match.group(1)))
        last = number
    return out


def page_paragraphs(source):
    source = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), source, flags=re.S | re.M)
    out = []
    start = 1
    for part in re.split(r"(\n\s*\n)", source):
        lines = [line for line in part.split("\n") if not re.match(r"\s*(\||#|<|!\[)", line)]
        if part.strip() and not part.startswith("\n") and any(line.strip() for line in lines):
            for item in re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines)):
                out.append((start + part.count("\n", 0, max(part.find(item), 0)), re.sub(r"^\s*(?:[-*]|\d+\.) ", "", item)))
        start += part.count("\n")
    return out


def plain(text):
    text = re.sub(r"^ {4,}.*$", "", text, flags=re.M)  # formulas stand by themselves
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"\[\w+\]", "X", text)  # lengths of arrays
    text = re.sub(r"[*_]{1,2}(?=\w)|(?<=\w)[*_]{1,2}(?=\W)", "", text)
    return text


def check(path):
    source = open(path, encoding="utf-8").read()
    if path.endswith(".md"):
        blocks = page_paragraphs(source)
    elif re.search(r"\.(c|h|cu|cuh)$", path):
        blocks = block_comments(source)
    else:
        blocks = hash_comments(source)
    found = 0
    for line, text in blocks:
        # A blank line, or an item, ends a sentence.
        parts = [p for p in re.split(r"\n\s*\n|\n(?=\s*[-*] )", plain(text)) if p.strip()]
        for number, part in enumerate(parts):
            for place, sentence in enumerate(sentences(" ".join(part.split()))):
                reasons = []
                words = re.findall(r"[A-Za-z][A-Za-z'-]*", sentence)
                if len(words) > WORDS:
                    reasons.append(f"{len(words)} words")
                # only after a full stop, or at the beginning
                if words and number == 0 and place == 0 and sentence[0].isalpha() and words[0].lower() in BEGINNINGS:
                    reasons.append(f'begins with "{words[0]}"')
                elif words and words[0] in ("Of", "Those", "That", "Where"):
                    reasons.append(f'begins with "{words[0]}"')
                for phrase, instead in PHRASES.items():
                    for match in re.finditer(rf"\b(?:{phrase})\b", sentence, re.I):
                        if not ALLOWED.match(sentence[match.start():]):
                            reasons.append(f'"{match.group()}" ({instead})')
                            break
                for what in reasons:
                    print(f"{path}:{line}: {what}: {sentence[:110]}")
                    found += 1
    return found


sys.exit(1 if sum([check(path) for path in sys.argv[1:]]) else 0)
