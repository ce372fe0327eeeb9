"""The topic of a question about all documents, without the words for the whole."""

from __future__ import annotations

import re

from knotwork.text.terms import content_terms

_WHOLE = re.compile(
    r"\b(?:please|what|which|who|how|can|could|would|you|give|list|tell|show|find|provide|make|write"
    r"|me|us|an?|is|are|do|does|of|in|on|about|main(?:ly)?|key|major|central|common(?:ly)?"
    r"|recurring|overarching|overall|general(?:ly)?|primary|principal|dominant|important|most"
    r"|frequent(?:ly)?|often|typical(?:ly)?|usually|any|all|whole|entire|across|throughout"
    r"|themes?|topics?|subjects?|ideas?|points?|takeaways?|gist|contents?|summar(?:y|i[sz]e)"
    r"|overview|outline|big picture|documents?|docs|corpus|collections?|texts?|files?|data ?sets?"
    r"|knowledge base|materials?|sources?|cover(?:s|ed)?|discuss(?:es|ed|ions?)?"
    r"|mention(?:s|ed)?|talk(?:s|ed)?|describe[sd]?|sa(?:y|ys|id)|deals?|with|contains?"
    r"|emphasi[sz]ed?|there)\b",
    re.IGNORECASE,
)
_WHOLE_ZH = re.compile(
    r"请|請|帮我|幫我|一下|总结|總結|概括|概述|综述|綜述|归纳|歸納|梳理|纵览|主要|核心|共同|常见|常見"
    r"|总体|總體|整体|整體|全部|所有|整个|整個|这些|這些|这批|這批|本|我的|文档|文檔|文件|资料|資料|文章"
    r"|材料|知识库|知識庫|语料|語料|内容|內容|主题|主題|话题|話題|议题|議題|要点|要點|大意|中心思想|观点|觀點"
    r"|有哪些|哪些|什么|什麼|方面|涉及|讨论|討論|介绍|介紹|包含|包括|关于|關於|讲述|講述|讲|講|谈|談|说|說"
    r"|是|的|了|都|里|裡|中|在|有|上|来看|來看|而言|给出|給出|列出"
)


def find_focus(question: str) -> str:
    """Return a question without the words by which it asks about the whole; "" if that is all.

    "What are the main themes of the documents?" has no focus, "Which risks of wind power are
    mentioned most?" has "risks wind power".
    """
    rest = _WHOLE_ZH.sub(" ", _WHOLE.sub(" ", question))
    rest = " ".join(re.sub(r"[^\w\s]", " ", rest).split())
    return rest if content_terms(rest) else ""
