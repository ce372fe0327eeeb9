"""Patterns of Chinese questions about the whole, a document, a topic, a number or steps."""

from __future__ import annotations

import re

from knotwork._synthesis.questions.scopes import QuestionScope, ScopeKind, bare_name, read_count
from knotwork._text.terms import content_terms

_TEXT_ZH = (
    "(?:文档|文檔|文件|资料|資料|文章|材料|知识库|知識庫|语料|語料|报告|報告|笔记|筆記|手册|手冊|书|書"
    "|教程|指南|小说|小說|故事|论文|論文|说明书|說明書|文本|规定|規定|制度|合同|年报|年報)"
)
_WHICH_ZH = (
    "(?:这|這|那|本|整|所有|全部|我的?|上述|以上)?(?:几|幾|些|个|個|本|份|篇|部|套|批|部分)?(?:的)?"
)
_WHOLE_ZH = re.compile(
    f"(?:{_WHICH_ZH}{_TEXT_ZH}(?:们|全文|内容|內容)?|这里|這裡|这|這|里面|裡面|全部|所有内容|整体|整體|全文)"
    "(?:里面|裡面|当中|當中|里|裡|中|上|内)?"
)
_POLITE_ZH = (
    "(?:请|請|帮我|幫我|帮忙|麻烦|麻煩|给我|給我|你|能否|能不能|可以|用中文|大致"
    "|简要地?|簡要地?|简单地?|簡單地?)*"
)
_CONTENT_ZH = (
    "(?:(?:的)?(?:主要|核心|大致|全部)?"
    "(?:内容|內容|要点|要點|大意|情节|情節|梗概|观点|觀點|主题|主題))"
)
_END_ZH = r"[\s？?。！!呢吗啊]*$"
_SUMMARY_ZH = re.compile(
    f"^{_POLITE_ZH}(?P<verb>总结|總結|概括|概述|综述|綜述|归纳|歸納|梳理|简介|介绍|介紹|说说|說說|讲讲|講講|谈谈|談談)"
    f"(?:一下|下|一遍)?(?P<target>.*?){_CONTENT_ZH}?{_END_ZH}"
)
_SUMMARY_VERBS_ZH = frozenset(
    {"总结", "總結", "概括", "概述", "综述", "綜述", "归纳", "歸納", "梳理"}
)
_ABOUT_ZH = re.compile(
    "^(?P<target>.*?)(?:主要|大致|大概|到底|都|总共|總共|究竟|整体上?|整體上?)*"
    "(?:讲述|講述|讲|講|说|說|写|寫|谈|談|介绍|介紹|讨论|討論|涉及|包含|包括|关于|關於|描述|叙述|敘述|涵盖|涵蓋|是关于|是關於)"
    "(?:的是|了|的|到)?(?:些)?(?:什么|什麼|啥|哪些|怎样的|怎樣的|哪几)(?:方面|内容|內容|主题|主題|故事|东西|東西|话题|話題|问题|問題)*的?"
    + _END_ZH
)
_THEME_ZH = re.compile(
    "^(?P<target>.*?)(?:的)?(?:主要内容|主要內容|大意|中心思想|主题|主題|梗概|目录|目錄|核心内容|核心內容|主要主题|主要主題|结构|結構)"
    f"(?:是什么|是什麼|是啥|有哪些|有什么|有什麼|是怎样的|是怎樣的)?{_END_ZH}"
)
_LIST_ZH = re.compile(
    "^(?:知识库|知識庫|这里|這裡|库)?(?:里面|裡面|里|裡|中)?(?:都|一共)?有(?:哪些|什么|什麼)"
    f"(?:文档|文檔|文件|资料|資料|内容|內容|主题|主題|章节|章節){_END_ZH}"
)
_SAYS_ZH = (
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|当中|當中|里|裡|中|上)?(?:对于|對於|关于|關於|有关|有關|对|對|就)"
        "(?P<subject>.+?)(?:方面)?(?:是|都|有)*(?:怎么|怎麼|如何|怎样|怎樣|什么|什麼|哪些|些什么|些什麼)?"
        "(?:说|說|讲|講|写|寫|规定|規定|介绍|介紹|描述|提到|提及|要求|看待|看|建议|建議)(?:的|了|过|過)?"
        f"(?:什么|什麼|哪些|些什么|些什麼)?(?:内容|內容|规定|規定|要求|建议|建議)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|里|裡|中)?(?:是)?(?:怎么|怎麼|如何|怎样|怎樣)"
        f"(?:说|說|讲|講|介绍|介紹|描述|规定|規定|看待)(?P<subject>.+?)(?:的)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?:关于|關於|有关|有關)(?P<subject>.+?)[，, ]*"
        f"(?P<where>[^，,]*?{_TEXT_ZH})(?:里|裡|中)?(?:都)?"
        f"(?:说|說|讲|講|写|寫|提到|提及|介绍|介紹|有)(?:了|过|過)?(?:什么|什麼|哪些)(?:内容|內容)?{_END_ZH}"
    ),
    re.compile(
        f"^{_POLITE_ZH}(?P<where>[^，,]*?{_TEXT_ZH})(?:里面|裡面|里|裡|中)?有(?:哪些|什么|什麼)(?:关于|關於|有关|有關)"
        f"(?P<subject>.+?)的?(?:内容|內容|信息|说明|說明|规定|規定)?{_END_ZH}"
    ),
)
_NOUN_ZH = (
    "(?:人物|人名|人士|人|角色|公司|企业|企業|组织|組織|机构|機構|单位|單位|地方|地点|地點|地名|城市|国家|國家"
    "|术语|術語|名词|名詞|名称|名稱|名字|概念|技术|技術|实体|實體)"
)
_SEEN_ZH = "(?:提到|提及|出现|出現|讨论|討論|引用|谈到|談到)"
_RANKINGS_ZH = tuple(
    re.compile(form)
    for form in (
        f"(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)的(?P<limit>\\d+)?(?:个|個|家|位)?(?P<noun>{_NOUN_ZH})",
        f"最(?:常|经常|經常)(?:被)?{_SEEN_ZH}的(?P<noun>{_NOUN_ZH})",
        f"(?:哪个|哪個|哪些|哪几个|哪幾個|哪家|哪位|哪|什么|什麼)(?P<noun>{_NOUN_ZH})(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)",
        f"^(?P<noun>谁|誰)(?:被)?{_SEEN_ZH}(?:的)?(?:次数|次數)?(?:得)?最(?:多|频繁|頻繁)",
        f"^(?:文档|文檔|资料|資料|书|書|文)?(?:里|裡|中)?(?P<most>主要|最重要)的?(?P<noun>人物|角色|公司|机构|機構|组织|組織|地点|地點)(?:有哪些|是谁|是誰|有谁|有誰|是哪些){_END_ZH}",
        f"(?:一共|总共|總共)?{_SEEN_ZH}(?:了|过|過)?(?:多少|几|幾)(?:个|個|家|位)(?P<noun>{_NOUN_ZH}){_END_ZH}",
    )
)
_UNIT_ZH = "(?:文档|文檔|文件|文章|资料|資料|段落|章节|章節|报告|報告)"
_MENTIONS_ZH = tuple(
    re.compile(form + _END_ZH)
    for form in (
        f"^(?:一共|总共|總共)?(?:有)?(?:多少|几|幾|哪些|哪几|哪幾)(?:个|個|篇|份)?{_UNIT_ZH}(?:里|裡|中)?{_SEEN_ZH}(?:了|过|過)?(?P<subject>.+?)",
        f"^(?P<subject>.+?)(?:在(?:{_WHICH_ZH}{_TEXT_ZH})(?:里|裡|中)?)?(?:一共|总共|總共|被)*{_SEEN_ZH}(?:了|过|過)?(?:多少|几|幾)次",
        f"^(?P<subject>.+?)在(?:多少|几|幾|哪些|哪几|哪幾)(?:个|個|篇|份)?{_UNIT_ZH}(?:里|裡|中)?(?:被)?{_SEEN_ZH}(?:了|过|過)?",
    )
)
_QUOTED_ZH = re.compile("[《“「『]")


def read_chinese(text: str) -> QuestionScope | None:
    """Return the scope of a Chinese question; None for any other question."""
    if counted := read_count(text, _RANKINGS_ZH, _MENTIONS_ZH):
        return counted
    if _LIST_ZH.match(text):
        return QuestionScope(ScopeKind.WHOLE)
    if steps := read_chinese_steps(text):
        return steps
    for form in _SAYS_ZH:
        if found := form.match(text):
            where = "" if _WHOLE_ZH.fullmatch(found["where"]) else found["where"]
            return QuestionScope(ScopeKind.TOPIC, found["subject"], where)
    if found := _SUMMARY_ZH.match(text):
        return _of_request(found["verb"], found["target"])
    found = _ABOUT_ZH.match(text) or _THEME_ZH.match(text)
    return _of_target_zh(found["target"]) if found else None


def _of_request(verb: str, target: str) -> QuestionScope | None:
    """Return the scope of "summarise …" or "introduce …": a text, a topic or an entity."""
    scope = _of_target_zh(target)
    if scope.is_sure:
        return scope
    if verb in _SUMMARY_VERBS_ZH:
        return QuestionScope(ScopeKind.TOPIC, scope.subject, scope.named)
    is_text = _QUOTED_ZH.match(target) or re.search(_TEXT_ZH, target)
    return scope if is_text else QuestionScope(ScopeKind.THING, scope.subject)


def _of_target_zh(target: str) -> QuestionScope:
    bare = target.removesuffix("的")
    if not bare or _WHOLE_ZH.fullmatch(bare):
        return QuestionScope(ScopeKind.WHOLE)
    name = bare_name(bare)
    return QuestionScope(ScopeKind.PART, name, name, is_sure=False)


def strip_chinese(phrase: str) -> str:
    """Return a phrase without words for texts: "差旅" for "差旅手册"."""
    return re.sub(f"{_WHICH_ZH}{_TEXT_ZH}$", "", phrase).strip()


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
    re.compile(form + _END_ZH)
    for form in (
        f"{_SUBJECT}[，, ]*{_ALL_ALONG}.{{0,10}}?{_ASKS}.*?",
        f"^(?:请|請)?{_ALL_ALONG}{_TELL}(?P<subject>.+?)",
        f"{_SUBJECT}[，, ]*{_MAY}{_HOW_MANY}{_STEPS}(?:来|來)?(?:完成|进行|進行)?",
        f"{_SUBJECT}{_FULL}{_PROCESS}{_IS_WHAT}",
        f"{_BEFORE}{_MUST}(?:把|对|對)?{_THINGS}{_MUST}{_CONSIDER}",
        f"{_BEFORE}{_MUST}{_CONSIDER}{_THINGS}",
    )
)


def read_chinese_steps(text: str) -> QuestionScope | None:
    """Return the scope of a Chinese question for steps; None for any other question."""
    for form in _FORMS:
        found = form.match(text)
        if found and content_terms(found["subject"]):
            return QuestionScope(ScopeKind.STEPS, found["subject"].strip("，, "))
    return None
