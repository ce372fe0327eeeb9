"""Scopes of questions about the whole, a document, a topic or a number, in two languages."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._questions.reading import QuestionScope, ScopeKind, reading_of
from knotwork._synthesis.ask_request import AskMode
from knotwork._synthesis.engine import choose_mode


@pytest.mark.parametrize(
    "question",
    [
        "What is this manual about?",
        "what are these documents about",
        "What's this all about?",
        "Summarize the story",
        "Please summarise the documents.",
        "Give me a short overview of the knowledge base",
        "Can you give me a summary?",
        "tl;dr",
        "What does this handbook cover?",
        "Which topics are covered?",
        "What topics are discussed in these files?",
        "What are the main themes of these documents?",
        "List the main topics",
        "Which topics come up again and again?",
        "What recurring themes run through these books?",
        "What can I find here?",
        "What kind of documents are these?",
        "Show me the table of contents",
        "What is in this folder?",
        "How is the manual structured?",
        "Tell me about this book",
        "Tell me what this is about",
        "这本手册讲了什么？",
        "这些文档主要讲了什么",
        "总结一下",
        "请总结一下全部资料的主要内容",
        "这些資料的主題有哪些？",
        "知识库里有哪些内容？",
        "介绍一下这本书",
        "文档的主要内容是什么？",
    ],
)
def test_questions_about_everything(question):
    scope = reading_of(question).scope
    assert replace(scope, of_themes=False) == QuestionScope(ScopeKind.WHOLE)
    assert choose_mode(question) is AskMode.GLOBAL


@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ("Which topics are covered?", 0),
        ("What are the top 5 themes in the data?", 5),
        ("top five themes", 5),
        ("Give me the three most important topics of this archive.", 3),
        ("Summarize the corpus in 4 themes", 4),
        ("数据中的前5个主题是什么？", 5),
        ("前五个主题", 5),
        ("列出三個最重要的主題", 3),
        ("这批资料有哪些主题？", 0),
    ],
)
def test_questions_about_themes(question, limit):
    scope = QuestionScope(ScopeKind.WHOLE, of_themes=True, limit=limit)
    assert reading_of(question).scope == scope


@pytest.mark.parametrize(
    "question",
    [
        "What are the top 5 products by revenue?",
        "What is the theme of chapter 3?",
        "Who chose the theme of the festival?",
        "How many themes did the jury propose?",
        "销售额最高的前5个产品是什么？",
        "今年节日的主题是什么？",
        "themes",
    ],
)
def test_questions_with_a_theme_in_them_are_not_about_all_themes(question):
    scope = reading_of(question).scope
    assert scope is None or not scope.of_themes


@pytest.mark.parametrize(
    ("question", "subject", "named"),
    [
        ("What do the documents say about safety?", "safety", ""),
        ("What does the manual say about copying files directly?", "copying files directly", ""),
        ("What does the travel chapter say about hotels?", "hotels", "the travel chapter"),
        ("What is said about storms?", "storms", ""),
        ("What is written about storms in the annual report?", "storms", "the annual report"),
        ("Find everything about buoys", "buoys", ""),
        ("Summarize what the documents say about storms", "storms", ""),
        ("Give me a summary of what is said about storms", "storms", ""),
        ("Summarize the security rules", "the security rules", "the security rules"),
        ("Give me an overview of water quality.", "water quality", "water quality"),
        ("手册里关于备份是怎么说的？", "备份", "手册"),
        ("这些文档对安全有哪些要求？", "安全", ""),
        ("总结一下磁盘阵列", "磁盘阵列", "磁盘阵列"),
        ("总结一下PostgreSQL", "PostgreSQL", "PostgreSQL"),
        ("What do the documents say about 磁盘阵列?", "磁盘阵列", ""),
    ],
)
def test_questions_about_a_topic(question, subject, named):
    scope = reading_of(question).scope
    assert scope is not None
    assert (scope.kind, scope.subject, scope.is_sure) == (ScopeKind.TOPIC, subject, True)
    assert scope.named in {named, ""}
    assert not scope.needs_communities


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Tell me about Oriane Keld", "Oriane Keld"),
        ("Tell me everything about the salt layer!", "the salt layer"),
        ("Please tell me events about NASA.", "NASA"),
        ("What do you know about the Tarn Bridge?", "the Tarn Bridge"),
        ("What can you tell me about the Tarn Bridge?", "the Tarn Bridge"),
        ("Give me some information on buoys", "buoys"),
        ("介绍一下温青岚", "温青岚"),
        ("说说盐水层", "盐水层"),
    ],
)
def test_questions_about_a_thing(question, subject):
    assert reading_of(question).scope == QuestionScope(ScopeKind.THING, subject)
    assert choose_mode(question) is not AskMode.GLOBAL  # a model is given the graph around it


@pytest.mark.parametrize(
    "question",
    [
        "The pump has failed. What should I do, step by step?",
        "Explain step by step how to haul in a buoy",
        "What are the steps to haul in a buoy?",
        "What is the procedure for closing the station?",
        "Give me a step-by-step guide to the inventory.",
        "What has to be settled before a trip abroad?",
        "水泵坏了，从头到尾该怎么处理？",
        "出差审批的流程是什么？",
        "一步一步教我收回浮标",
        "出国之前要先把哪些事情想清楚？",
    ],
)
def test_questions_for_steps_have_no_scope(question):
    assert reading_of(question).scope is None


@pytest.mark.parametrize(
    ("question", "name", "names_text"),
    [
        ("What is Emma about?", "Emma", False),
        ("What is travel.md about?", "travel.md", False),
        ("What does Chapter 3 cover?", "Chapter 3", True),
        ("What does the pump contain?", "the pump", False),
        ("What are the main points of the travel policy?", "the travel policy", True),
        ("What topics does the page on pumps go through?", "the page on pumps", True),
        ("What is discussed in the section on buoys?", "the section on buoys", True),
        ("What can I read in the leaflet about fees?", "the leaflet about fees", True),
        ("《红楼梦》讲了什么？", "红楼梦", True),
        ("浮标那一节有哪些要点？", "浮标那一节", True),
        ("介绍一下差旅管理规定", "差旅管理规定", True),
    ],
)
def test_a_name_that_may_be_a_document_is_uncertain(question, name, names_text):
    scope = QuestionScope(ScopeKind.PART, name, name, is_sure=False, names_text=names_text)
    assert reading_of(question).scope == scope


@pytest.mark.parametrize(
    ("question", "noun", "limit", "by_importance"),
    [
        ("Which people are mentioned most often?", "people", 0, False),
        ("Who is mentioned the most?", "who", 0, False),
        ("What are the most frequently mentioned companies in these documents?", "companies", 0, 0),
        ("List the top 10 most mentioned places", "places", 10, False),
        ("Which 3 companies are named most often?", "companies", 3, False),
        ("Who are the main characters?", "characters", 0, True),
        ("What are the most important organizations?", "organizations", 0, True),
        ("提到最多的公司是哪些？", "公司", 0, False),
        ("哪些人物出现次数最多？", "人物", 0, False),
        ("谁被提到的次数最多？", "谁", 0, False),
        ("主要人物有哪些？", "人物", 0, True),
    ],
)
def test_questions_for_the_entities_of_a_type(question, noun, limit, by_importance):
    scope = reading_of(question).scope
    assert scope is not None
    assert (scope.kind, scope.subject, scope.limit) == (ScopeKind.RANKING, noun, limit)
    assert scope.by_importance == by_importance == scope.needs_communities


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("How many documents mention SELinux?", "SELinux"),
        ("Which files mention Oriane Keld?", "Oriane Keld"),
        ("In how many chapters does Emma appear?", "Emma"),
        ("How often is the Kestrel probe mentioned?", "the Kestrel probe"),
        ("how many times does WAL occur in these files?", "WAL"),
        ("How many documents mention “hot standby”?", "hot standby"),
        ("有多少篇文章提到了奥运会？", "奥运会"),
        ("温青岚被提到了多少次？", "温青岚"),
        ("哪些文档提到了苍鹭浮标", "苍鹭浮标"),
    ],
)
def test_questions_for_how_often_something_is_mentioned(question, subject):
    assert reading_of(question).scope == QuestionScope(ScopeKind.MENTIONS, subject)


@pytest.mark.parametrize(
    "question",
    [
        "What is the default value of deadlock_timeout?",
        "Who approves trips abroad?",
        "Tell me about how the pumps are cleaned",
        "What does the BBC article say about Amitabh Bachchan in 2021?",
        "How many table blocks does each index entry summarise?",
        "How do the two strategies differ in what they write to the log?",
        "How often are the logs rotated?",
        "How often does the fault occur?",
        "How often does the alarm come up at night?",
        "How many times do storms occur in a year?",
        "How many people work at the station?",
        "What is the main theme of the novel, and who wrote it?",
        "Which documents do I need to travel abroad?",
        "谁审批海外出差？",
        "浮标的深度是多少？",
        "我国区块链发展面临的主要挑战有哪些？",
        "",
        "?",
        "about",
    ],
)
def test_other_questions_have_no_scope(question):
    scope = reading_of(question).scope
    assert scope is None or not scope.is_sure


@given(st.text(max_size=300))
def test_any_text_may_be_asked(text):
    scope = reading_of(text).scope
    assert scope is None or isinstance(scope, QuestionScope)


@pytest.mark.parametrize(
    ("phrase", "rest"),
    [
        ("the maintenance chapter", "maintenance"),
        ("this manual", ""),
        ("差旅手册", "差旅"),
        ("这本手册", ""),
        ("", ""),
    ],
)
def test_a_phrase_without_words_for_texts(phrase, rest):
    assert reading_of(phrase).strip_text_nouns() == rest
