"""The forms of Chinese questions for the steps of something, and for what precedes it."""

from __future__ import annotations

import re

from knotwork.synthesis.overviews.scopes import Scope, ScopeKind
from knotwork.text.terms import content_terms

_END = r"[\s？?。！!呢吗啊]*$"
_SUBJECT = "^(?P<subject>.+?)"
_ALL_ALONG = "(?:从头到尾|從頭到尾|从头至尾|從頭至尾|一步一步|一步步|自始至终)(?:地|来|來)?"
_ASKS = "(?:哪|几|幾|什么|什麼|怎么|怎麼|怎样|怎樣|如何|做|办|辦)"
_TELL = "(?:告诉我|告訴我|教我|说明|說明|讲讲|講講)?"
_MAY = (
    "(?:一共|总共|總共|大致|通常|依次|都|需|要|得|应该|應該|必须|必須|可以)*"
    "(?:分成|分为|分為|分|有|过|過|经过|經過|走|经历|經歷|包括|包含|办|辦|做)"
)
_HOW_MANY = (
    "(?:哪些|哪几|哪幾|几|幾|多少|什么|什麼|怎样的|怎樣的)"
    "(?:个|個|道|大)?(?:主要|具体|具體)?(?:的)?"
)
_STEPS = "(?:步骤|步驟|阶段|階段|环节|環節|流程|手续|手續|程序|道关|關|关|步)"
_FULL = "的?(?:具体|具體|详细|詳細|完整|操作|整个|整個|基本|一般)*(?:的)?"
_PROCESS = "(?:步骤|步驟|流程|过程|過程|先后顺序|先後順序)"
_IS_WHAT = (
    "(?:是|有|包括|该|該)?(?:什么样的?|什麼樣的?|什么|什麼|怎样的?|怎樣的?|怎么样的?|怎么走|怎麼走"
    "|如何|哪些|啥)"
)
_BEFORE = "^(?:在)?(?P<subject>.+?)(?:之前|以前|前)[，, ]*"
_MUST = "(?:我们|我們|我|需要|需|要|得|应该|應該|应当|應當|必须|必須|先|首先|事先|提前)*"
_THINGS = "(?:哪|什么|什麼)(?:些)?(?:事情|事|问题|問題|方面|因素|东西|東西|点|點)?"
_CONSIDER = (
    "(?:想明白|想清楚|想好|想清|考虑好?|考慮好?|弄清楚?|弄明白|搞清楚?|搞明白|明确|明確|理清"
    "|确定|確定|决定|決定|定下来?|规划好?|規劃好?|准备好?|準備好?)"
)
_FORMS = tuple(
    re.compile(form + _END)
    for form in (
        f"{_SUBJECT}[，, ]*{_ALL_ALONG}.{{0,10}}?{_ASKS}.*?",
        f"^(?:请|請)?{_ALL_ALONG}{_TELL}(?P<subject>.+?)",
        f"{_SUBJECT}[，, ]*{_MAY}{_HOW_MANY}{_STEPS}(?:来|來)?(?:完成|进行|進行)?",
        f"{_SUBJECT}{_FULL}{_PROCESS}{_IS_WHAT}",
        f"{_BEFORE}{_MUST}(?:把|对|對)?{_THINGS}{_MUST}{_CONSIDER}",
        f"{_BEFORE}{_MUST}{_CONSIDER}{_THINGS}",
    )
)


def read_chinese_steps(text: str) -> Scope | None:
    """Return the scope of a Chinese question for steps; None for any other question."""
    for form in _FORMS:
        found = form.match(text)
        if found and content_terms(found["subject"]):
            return Scope(ScopeKind.STEPS, found["subject"].strip("，, "))
    return None
