"""Chinese as questions use it, in simplified characters."""

from __future__ import annotations

from knotwork._questions.languages import NOTHING, Language, ScopeWords, Words

_TEXT = (
    "(?:文档|文件|资料|文章|材料|知识库|语料|报告|笔记|手册|书|教程|指南|小说|故事|论文|说明书|文本"
    "|规定|制度|合同|年报)"
)
_WHICH = "(?:这|那|本|整|所有|全部|我的?|上述|以上)?几?(?:些|个|本|份|篇|部|套|批|部分)?(?:的)?"
_POLITE = "(?:请|帮我|帮忙|麻烦|给我|你|能否|能不能|可以|用中文|大致|简要地?|简单地?)*"
_END = r"[\s？?。！!呢吗啊]*$"
_INSIDE = "(?:里面|里|中)?"
_WHAT = "(?:什么|哪些|些什么)"
_NOUN = (
    "(?P<noun>人物|人名|人士|人|角色|公司|企业|组织|机构|单位|地方|地点|地名|城市|国家|术语|名词"
    "|名称|名字|概念|技术|实体)"
)
_SEEN = "(?:提到|提及|出现|讨论|引用|谈到)"
_MOST = "(?:的)?(?:次数)?(?:得)?最(?:多|频繁)"
_UNIT = "(?:多少|几|哪些|哪几)(?:个|篇|份)?(?:文档|文件|文章|资料|段落|章节|报告)(?:里|中)?"
_DONE = "(?:了|过)?"
_PART = "(?P<noun>章节|章|节|条|部分|小节|标题|文档|文件|文章|资料|论文)"
_NOUNS = f"(?:{_PART}|(?P<other>[^，,的里中有个]{{2,12}}?))"
_MEASURE = "(?:多少|几)(?:个|篇|份|种|类|项|条)?"
_LIST_ALL = f"^{_POLITE}(?:列出|列举|罗列)(?:一下)?"
_ALTOGETHER = "(?:一共|总共|共)?"
_TARGET = (
    "(?P<once>一下|下|一遍)?(?P<{}>.*?)"
    f"(?:(?:的)?(?:主要|核心|大致|全部)?(?:内容|要点|大意|情节|梗概|观点|主题))?{_END}"
)
_TELL = f"^{_POLITE}(?:简介|介绍|说说|讲讲|谈谈){_TARGET}"

_SCOPES = ScopeWords(
    text=Words(f"^(?P<rest>.*?){_WHICH}{_TEXT}$"),
    titled=Words(f"^[《“「『]|{_TEXT}"),
    whole=Words(
        f"(?:{_WHICH}{_TEXT}(?:们|全文|内容)?|这里|这|里面|全部|所有内容|整体|全文)"
        "(?:里面|当中|里|中|上|内)?"
    ),
    determiner=NOTHING,
    rankings=(
        Words(f"(?:被)?{_SEEN}{_MOST}的(?P<limit>\\d+)?(?:个|家|位)?{_NOUN}"),
        Words(f"最(?:常|经常)(?:被)?{_SEEN}的{_NOUN}"),
        Words(f"(?:哪个|哪些|哪几个|哪家|哪位|哪|什么){_NOUN}(?:被)?{_SEEN}{_MOST}"),
        Words(f"^(?P<noun>谁)(?:被)?{_SEEN}{_MOST}"),
        Words(
            "^(?:文档|资料|书|文)?(?:里|中)?(?P<most>主要|最重要)的?"
            "(?P<noun>人物|角色|公司|机构|组织|地点)"
            f"(?:有哪些|是谁|有谁|是哪些){_END}"
        ),
        Words(f"(?:一共|总共)?{_SEEN}{_DONE}(?:多少|几)(?:个|家|位){_NOUN}{_END}"),
    ),
    mentions=(
        Words(f"^(?:一共|总共)?(?:有)?{_UNIT}{_SEEN}{_DONE}(?P<subject>.+?){_END}"),
        Words(
            f"^(?P<subject>.+?)(?:在(?:{_WHICH}{_TEXT})(?:里|中)?)?(?:一共|总共|被)*{_SEEN}{_DONE}"
            f"(?:多少|几)次{_END}"
        ),
        Words(f"^(?P<subject>.+?)在{_UNIT}(?:被)?{_SEEN}{_DONE}{_END}"),
    ),
    listings=(
        Words(f"{_LIST_ALL}(?:所有|全部)的?{_NOUNS}{_END}"),
        Words(f"{_LIST_ALL}(?P<where>[^的]+?){_INSIDE}的?(?:所有|全部)的?{_NOUNS}{_END}"),
        Words(f"^{_ALTOGETHER}有{_MEASURE}{_NOUNS}{_END}"),
        Words(f"^(?P<where>.+?){_INSIDE}{_ALTOGETHER}(?:有|分为|分成){_MEASURE}{_PART}{_END}"),
        Words(f"^(?P<where>.+?){_INSIDE}都?有(?:哪些|哪几|什么)(?:个)?{_PART}{_END}"),
    ),
    bare=Words(
        f"^(?:知识库|这里|库)?{_INSIDE}(?:都|一共)?有(?:哪些|什么)"
        f"(?:文档|文件|资料|内容|主题|章节){_END}"
    ),
    summary=Words(f"^{_POLITE}(?:总结|概括|概述|综述|归纳|梳理){_TARGET}".format("target")),
    said=(
        Words(
            f"^{_POLITE}(?P<where>[^，,]*?{_TEXT})(?:里面|当中|里|中|上)?"
            "(?:对于|关于|有关|对|就)(?P<subject>.+?)(?:方面)?(?:是|都|有)*"
            "(?:怎么|如何|怎样|什么|哪些|些什么)?"
            "(?:说|讲|写|规定|介绍|描述|提到|提及|要求|看待|看|建议)(?:的|了|过)?"
            f"{_WHAT}?(?:内容|规定|要求|建议)?{_END}"
        ),
        Words(
            f"^{_POLITE}(?P<where>[^，,]*?{_TEXT}){_INSIDE}(?:是)?(?:怎么|如何|怎样)"
            f"(?:说|讲|介绍|描述|规定|看待)(?P<subject>.+?)(?:的)?{_END}"
        ),
        Words(
            f"^{_POLITE}(?:关于|有关)(?P<subject>.+?)[，, ]*(?P<where>[^，,]*?{_TEXT})(?:里|中)?"
            f"(?:都)?(?:说|讲|写|提到|提及|介绍|有){_DONE}(?:什么|哪些)(?:内容)?{_END}"
        ),
        Words(
            f"^{_POLITE}(?P<where>[^，,]*?{_TEXT}){_INSIDE}有(?:哪些|什么)(?:关于|有关)"
            f"(?P<subject>.+?)的?(?:内容|信息|说明|规定)?{_END}"
        ),
    ),
    about=(
        Words(
            "^(?P<target>.*?)(?:主要|大致|大概|到底|都|总共|究竟|整体上?)*"
            "(?:讲述|讲|说|写|谈|介绍|讨论|涉及|包含|包括|关于|描述|叙述|涵盖|是关于)(?:的是|了|的|到)?"
            "(?:些)?(?:什么|啥|哪些|怎样的|哪几)(?:方面|内容|主题|故事|东西|话题|问题)*的?" + _END
        ),
        Words(
            "^(?P<target>.*?)(?:的)?(?:主要内容|大意|中心思想|主题|梗概|目录|核心内容|主要主题|结构"
            "|(?:核心|主要)(?:观点|思想|论点))"
            f"(?:是什么|是啥|有哪些|有什么|是怎样的)?{_END}"
        ),
    ),
    tell=Words(_TELL.format("target")),
    tell_all=Words(_TELL.format("subject")),
    fact=Words("谁|何时|什么时候|哪里|哪儿|在哪|哪年|哪天|哪一年|哪一天|多少|多久|几[次天年月]"),
)

_COMMON = Words(
    "(?:主要|有)(?:有|包括|涉及|讨论|谈|讲|包含)?(?:了)?(?:哪些|什么)"
    "(?:主题|话题|议题|方面|内容|趋势)"
    "|(?:主要|共同|常见|反复出现的?|普遍)(?:的)?"
    "(?:主题|话题|议题|趋势|观点|问题|挑战)(?:是|有|包括)"
    "|最(?:常|多|经常|频繁)(?:被)?(?:讨论|提到|提及|谈到|谈论|关注)的?(?:是)?(?:哪些|什么)?"
    "(?:主题|话题|议题|问题|观点)|反映最多的?(?:问题|意见)"
)
_OF_ONE_THING = Words(
    "^(?P<thing>.{1,8}?)的(?:主要|共同|常见|普遍)(?:的)?(?:问题|挑战)(?:是|有|包括)"
)
_SAID = Words("文档|文件|资料|文章|材料|报告|访谈|知识库|语料|大家|作者|受访|讨论|提到|反映|嘉宾")
_NAMED = Words("[《“「『〈][^》”」』〉]+[》”」』〉]|[0-9０-９]{2,}")
_MOST_BEFORE = 8
"""Characters before words such as "the main problems are"; with more, it asks about those."""


def _asks_what_many_say(text: str) -> bool:
    """Return True if a question without names asks for what is said most."""
    common, thing = _COMMON.search(text), _OF_ONE_THING.search(text)
    if common is None or common.start() > _MOST_BEFORE or _NAMED.search(text):
        return False
    return thing is None or _SAID.search(thing["thing"]) is not None


CHINESE = Language(
    scopes=_SCOPES,
    asks_what_many_say=_asks_what_many_say,
    relations=Words(
        "介绍一下|^请?(?:介绍|说说|谈谈)"
        r"|(?:之间|和|与|跟).{0,12}(?:的)?(?:关系|联系)(?:是|如何|怎样|吗|？|\?|$)"
        "|^.{2,8}(?:是谁|是什么人)[？?]?$"
    ),
    yes_no=Words(
        r"吗\s*[?？]?$|是否|能不能|能否|可不可以|可否|是不是|会不会|有没有|要不要|需不需要"
    ),
    amount=Words(
        "多少|几[个位天年次种条步级台份款名项月周]|多[久长大快高远]|最[大多小少高低长]"
        "|[上下]限|至[少多]|第几|几$"
    ),
    default=Words("默认|缺省|预设|没有?(?:设置|指定|配置)|不(?:设|指定|配置)"),
    date=Words("何时|什么时候|什么时间|哪一?[年天月日]|几[年月日号]|年份|日期"),
    name=Words(
        "哪一?个(?:指令|选项|命令|设置|参数|函数|方法|模块|文件|工具|程序|软件包|变量|按钮|菜单|人|城市)"
        "|谁|什么命令"
    ),
    who=Words("谁|哪位|哪些人|哪个人|何人"),
    when=Words("什么时候|何时|哪一?[年天]"),
    where=Words("哪里|哪儿|何[处地]|什么地方|(?<![好别异同])在哪(?![一个些种部年天位几])"),
    pronoun=Words("(?P<one>[他她](?!们))|(?P<it>它(?!们))|(?P<the>该(?:公司|片|书|市|校))"),
)
