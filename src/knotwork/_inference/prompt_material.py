"""Make the text of documents harmless in prompts, and read it in replies as it was.

Models mark the turns of a conversation, tool calls and the like with control tokens, texts such as
``<|im_start|>`` or ``[INST]``. Some servers turn these texts into tokens wherever they occur, so
that a document could end its own turn and begin another. `disarm` is applied to every `Message`:
no prompt can forget it. Our own prompts mark their parts with tags and passages with numbers, for
which `escape_tags` and `escape_passage` do the same.

All of them replace only the first character of what they find. A text keeps its length, stays
readable, and no removal can join two halves to another token.
"""

from __future__ import annotations

import re

PROMPT_TAGS = (
    "question context facts text memory points reports name names community descriptions pairs"
)
"""The tags that mark the parts of our prompts, with spaces between them."""

TURN_TOKENS = (
    # Gemma, Llama 2 and 3, ChatML, Cohere, Baichuan, InternLM, GLM, Ling, Kimi
    "start_of_turn end_of_turn turn channel SYS begin_of_text end_of_text start_header_id "
    "end_header_id eot_id eom_id im_start im_end im_sep im_user im_system im_assistant endoftext "
    "startoftext begin_of_sentence end_of_sentence bos eos eod eot sop eop eoh eoa BOS_TOKEN "
    "EOS_TOKEN EOP_TOKEN role pad unk mask PAD_TOKEN UNK_TOKEN CLS_TOKEN SEP_TOKEN MASK_TOKEN "
    "start_of_image end_of_image image_soft_token audio_soft_token "
    # marks of thinking and of tools, which many chat templates read
    "think tool tool_call tool_calls tool_response tool_responses function_call function_calls"
)
"""Names of control tokens in angle brackets, also with bars or doubled brackets."""

BRACKET_TOKENS = (
    # Mistral and Llama 2, then GLM. Mistral's [PREFIX], [ARGS] and [IMG] begin or end no turn, and
    # are usual in descriptions of commands.
    "INST SYSTEM_PROMPT AVAILABLE_TOOLS TOOL_CALLS TOOL_RESULTS TOOL_CONTENT TOOL_CALL CALL_ID "
    "THINK MODEL_SETTINGS gMASK sMASK"
)
"""Names of control tokens in square brackets."""

_BARRED_BRACKET_TOKENS = "system user assistant tool endofturn human AI"  # EXAONE, BlueLM

_UNSEEN = (
    0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810),
    *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0x3164,
    *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE1000),
)  # fmt: skip
"""Characters without a glyph, which a reader does not see and a server may remove."""

_PLAIN: dict[int, str | None] = {
    **{wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)},
    **dict.fromkeys(map(ord, "\u00a6\u01c0\u2223\u2502\u2758\uffe8"), "|"),
    0x2581: "_",
    0xFE64: "<",
    0xFE65: ">",
    **dict.fromkeys(_UNSEEN),
}
"""The plain form of the wide forms in which tokens are written, and None for what is not seen."""

_HARMLESS = {"<": "‹", "[": "〔", "]": "〕"}
_AS_WRITTEN = str.maketrans("‹〔〕＜［］", "<[]<[]")
_GAP = r"[^\S\r\n]*"


def _any_of(names: str) -> str:
    """Return a pattern of names, with any joint between their words."""
    return f"(?:{'|'.join(name.replace('_', '[_ -]?') for name in names.split())})"


_CONTROL = re.compile(
    # <|name|>
    rf"<(?={_GAP}(?:/{_GAP})?\|{_GAP}(?:/{_GAP})?[\w\-./:\"]{{1,60}}{_GAP}\|{_GAP}>)"
    # <|name> and <name|>, without spaces: "a < b |> f" is a pipe of a programming language
    r"|<(?=/?\|/?[\w\-./:\"]{1,60}>)|<(?=[\w\-./:\"]{1,60}\|>)"
    # <name>, </name>, <<name>>, <|name>, <name|>
    rf"|<(?={_GAP}(?:<{_GAP})?(?:[/|]{_GAP}){{0,2}}{_any_of(TURN_TOKENS)}{_GAP}(?:\|{_GAP})?>)"
    # <s>, <reserved_106>, without spaces: "a < s > b" is a comparison
    r"|<(?=/?(?:s|(?:reserved|unused|extra_id|special|tokens_unused)_?\d{1,4}|seed:\w{1,20}"
    r"|_(?:user|bot|end|system))>)"
    # [NAME], [/NAME], [|NAME|], [UNUSED_TOKEN_145]
    rf"|\[(?={_GAP}(?:/{_GAP})?(?:{_any_of(BRACKET_TOKENS)}|UNUSED_TOKEN_\d{{1,4}}){_GAP}\])"
    rf"|\[(?={_GAP}\|{_GAP}{_any_of(_BARRED_BRACKET_TOKENS)}{_GAP}\|{_GAP}\])"
    # MiniMax
    r"|\](?=~b\]|~!b\[)|\[(?=e~\[)",
    re.IGNORECASE,
)
_TAG = re.compile(
    rf"<(?={_GAP}(?:/{_GAP})?{_any_of(PROMPT_TAGS)}(?:[\s/][^<>‹]{{0,100}})?>)", re.IGNORECASE
)
_MARK_WORD = "(?:passages?|sources?|段落?|来源|第)"
_MARK = re.compile(
    rf"[\[【［]\s*(?:{_MARK_WORD}\s*)?(?=M?\d)(?:M?\d|[\s,，、;；\-–]|{_MARK_WORD}){{1,60}}段?[\]】］]",
    re.IGNORECASE,
)
"""Every form in which a reply may cite passages, and remembered facts: [M1]."""

_IN_PARENTHESES = str.maketrans("[【［]】］", "((()))")


def disarm(text: str) -> str:
    """Return a text without control tokens of models: their ``<`` becomes ``‹``, ``[`` ``〔``.

    Letter case, spaces, wide forms and characters that cannot be seen make no difference. Takes
    linear time.
    """
    return _replace_starts(_CONTROL, text)


def escape_tags(text: str) -> str:
    """Return a text without tags of our prompts: their ``<`` becomes ``‹``."""
    return _replace_starts(_TAG, text)


def escape_passage(text: str) -> str:
    """Return a text without tags of our prompts, and with citation marks in parentheses."""
    return escape_tags(_parenthesise(text))


def comparable(text: str) -> str:
    """Return a text for comparison: equal for a document's text and what a prompt shows of it."""
    return _parenthesise(text.translate(_AS_WRITTEN))


def restore(reply: str) -> str:
    """Return a reply in which quoted control tokens and tags are written as in the document."""
    if "‹" not in reply and "〔" not in reply and "〕" not in reply:
        return reply
    written = reply.translate(_AS_WRITTEN)
    shown = escape_tags(disarm(written))
    return "".join(
        original if safe == given and safe != original else given
        for given, original, safe in zip(reply, written, shown, strict=True)
    )


def _parenthesise(text: str) -> str:
    """Return a text with its citation marks in parentheses."""
    return _MARK.sub(lambda match: match[0].translate(_IN_PARENTHESES), text)


def _replace_starts(pattern: re.Pattern[str], text: str) -> str:
    """Replace the first character of each match; the pattern is matched with the plain forms."""
    plain = text.translate(_PLAIN) if not text.isascii() else text
    if "<" not in plain and "[" not in plain and "]" not in plain:
        return text
    found = [match.start() for match in pattern.finditer(plain)]
    if not found:
        return text
    if len(plain) != len(text):
        seen = [at for at, sign in enumerate(text) if _PLAIN.get(ord(sign), "") is not None]
        found = [seen[place] for place in found]
    written = list(text)
    for place in found:
        start = text[place].translate(_PLAIN)
        written[place] = _HARMLESS[start]
    return "".join(written)
