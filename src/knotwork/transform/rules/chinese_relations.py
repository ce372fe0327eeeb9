"""The patterns by which a Chinese sentence states a relation between two of its names."""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.transform.rules.chinese import HanSentence
from knotwork.transform.rules.chinese_vocabulary import PERSON_TITLES
from knotwork.transform.rules.occurrences import Occurrence

_VERBS = (
    "发布 创作 收购 成立 创立 创办 创建 建立 设立 组建 位于 坐落于 地处 隶属于 隶属 属于 "
    "归属于 包括 包含 涵盖 开发 研发 推出 研制 设计 编写 撰写 执导 主演 饰演 导演 演唱 "
    "作曲 出生于 生于 毕业于 就读于 任职于 任教于 加入 获得 荣获 获 赢得 签署 签订 合并 "
    "控股 持有 投资 承办 主办 举办 出版 发行 打造 承建 建设 运营 管理 支持 使用 采用 应用 "
    "提供 依赖 取代 替代 代替 接替 源于 源自 基于 改编自 用于 适用于 入选 参与 参加 访问 "
    "击败 战胜 占领 娶 嫁给 发现 发明 提出 制定 印发 出台 颁布 修订 审议通过 通过 批准 "
    "联合 携手 合作 迁至 迁往 改名为 更名为 命名为 前身为 前身是 连接 覆盖 落户 入驻 登陆 "
    "上线 生产 制造 销售 代理 赞助 资助 捐赠 起诉 处罚 监管 领导 率领 指挥 兼容 内置 安装 "
    "运行于 运行 配置 监听 替换 继承 扩展 调用 依托 采纳 取代了 类似于 等同于 相当于 "
    "依赖于 取决于 对应于 对应 集成 整合 附带 自带 转换 读取 写入 生成 执行 启动 检查 "
    "加载 保存 存储 限制 控制 过滤 监控 记录 检测 处理 接受 需要 允许 要求 引入 结合 "
    "不同于 区别于 来自 出自 派生自 衍生自 移植到 托管 赞成 反对 主导 牵头 参股 合资 承接"
)
_VERB = re.compile(
    "(?:(?:也|还|又|已|已经|曾|曾经|正式|主要|共同|首次|成功|随后|后来|一直|现|均|都|再次|率先|先后)*)"
    f"(?P<verb>{'|'.join(sorted(_VERBS.split(), key=len, reverse=True))})"
    '(?:了|过|着)?(?:一款|一个|一部|一家|一种|首个|首款|全新的?)?[《“「"\\s]*'
)
_SORT = (
    "(?:软件包|套件|命令|程序|工具|文件|服务器|服务|协议|系统|模块|参数|项目|平台|语言|内核|桌面环境|桌面|环境|库|格式"
    "|发行版|软件|网站|数据库|浏览器|架构|团队|社区|驱动|算法|标准|组织|公司)"
)
_SORT_BEHIND = re.compile(f'\\s?{_SORT}(?:的?)(?=[\\s，,。；;：:、（()）”」"》!！?？]|$)')
_LEADING_SORT = re.compile(f"\\s?{_SORT}")
_BY = re.compile(r"\s*[,，]?\s*(?:也|都|均|现)?(?:是|已)?由\s*")
_DONE_BY = re.compile(
    r"\s?(?:公司|项目|团队|社区)?\s?(?:所|来|共同|负责|主导)?(?P<verb>开发|维护|提供|设计|编写|创建|创立|创办|建立|发起|发布|出版|管理|制定|"
    r"生产|制造|运营|控制|启动|执导|主演|创作|撰写|赞助|支持|生成)"
)
_IS_OF = re.compile(r"\s*(?:是|为)\s*")
_NOUN_OF = re.compile(r"的(?P<noun>[\u4e00-\u9fff]{1,6}?)(?=[,，。；;、（(]|$)")
_CLAUSE_STARTS = '，,。；;：:、（(“”「」"》\n|—-！!？?'
_AFTER = '，,。；;：:、（()）”」"》\n|！!？?'
_JOINED = ("和", "与", "及", "或", "等", "以及", "并", "后", "时")
_BEFORE_SUBJECT = re.compile(
    r"(?:(?:日|月|年|期间|近日|日前|今年|去年|目前|同时|其中|此外|因此|由于|例如|如|而|但|且|并且|随着)[,，\s]*)$"
)


class Said(NamedTuple):
    """The words of a relation; ``reversed`` if the later name is its subject."""

    words: str = ""
    reversed: bool = False


def han_relation(sentence: HanSentence, before: Occurrence, after: Occurrence) -> Said:
    """Return the relation that the characters between two names of a sentence state."""
    text = sentence.simplified
    between = text[before.end : after.start]
    if "DATE" in {before.type, after.type}:
        return Said()
    title = _title_between(between, before, after)
    if title:
        return Said(title, reversed=True)
    if not _is_subject(text, before.start):
        return Said()
    readers = (_verb, _author, _is_of)
    return Said(next(filter(None, (read(between, text, after) for read in readers)), ""))


def _verb(between: str, text: str, after: Occurrence) -> str:
    """Return the verb of "中国联通发布《…》"."""
    bare = between.lstrip('》”」"）) ')
    verb = _VERB.fullmatch(bare) or _VERB.fullmatch(_LEADING_SORT.sub("", bare, count=1).lstrip())
    return verb["verb"] if verb is not None and _is_whole(text, after.end) else ""


def _author(between: str, text: str, after: Occurrence) -> str:
    """Return "由…开发" of "CrossOver，由 CodeWeavers 开发"."""
    done = _DONE_BY.match(text, after.end) if _BY.fullmatch(between) else None
    return f"由…{done['verb']}" if done is not None else ""


def _is_of(between: str, text: str, after: Occurrence) -> str:
    """Return "是…的首都" of "北京是中国的首都"."""
    noun = _NOUN_OF.match(text, after.end) if _IS_OF.fullmatch(between) else None
    return f"是…的{noun['noun']}" if noun is not None else ""


def _title_between(between: str, before: Occurrence, after: Occurrence) -> str:
    """Return the post of a person behind an organization: 中国联通董事长刘烈宏."""
    if after.type != "PERSON" or before.type not in {"ORGANIZATION", "PLACE", ""}:
        return ""
    for post in filter(None, re.split("[、兼]", between)):
        if post not in _POSTS:
            return ""
    return between.strip("、兼")


_COURTESY = frozenset(["先生", "女士", "小姐", "老师", "同志", "夫人"])
_POSTS = (PERSON_TITLES - _COURTESY) | {"副总经理", "副总裁", "党组书记", "首席执行官"}


def _is_subject(text: str, start: int) -> bool:
    """Return whether a clause begins here: a mark, or a word for time, stands before."""
    bare = text[:start].rstrip('《“「" ')
    return not bare or bare[-1] in _CLAUSE_STARTS or bool(_BEFORE_SUBJECT.search(bare))


def _is_whole(text: str, end: int) -> bool:
    """Return whether a name ends its phrase here."""
    if _SORT_BEHIND.match(text, end):
        return True
    rest = text[end : end + 6].lstrip('》”」" ')
    return not rest or rest[0] in _AFTER or rest.startswith(_JOINED)
