"""An answer about the sibling of what is asked is never given as certain, and says so."""

import pytest

from .small_files import index_of

FILES = {
    "board.txt": "The repair of mooring 7 cost 4,200 crowns and was paid from the reserve. The "
    "south quay gets new lamps in May. The spring fair takes place on 20 April.\n",
    "hire.txt": "The rent of a tandem bike is 12 euros a day. The chairman approves trips abroad. "
    "Ina Falk owns the mill. The house in Elm Street was sold in 2019.\n",
    "纪要.txt": "3号泊位的维修费用为四千二百元，由储备金支付。\n\n"
    "北岸灯塔由建筑师林海设计，高32米。\n\n春季展销会定于4月20日举行。\n",
    "规定.txt": "女员工的产假为158天。国内出差每天补贴180元。会议室的钥匙由沈浩保管。\n",
    "yard.txt": "Ducks may be kept behind the yard. The keel is sanded with grain 80. The fee for "
    "a scull is 15 euros. The director password lies in drawer 3.\n",
    "市场.txt": "周六加班按两倍计算工资。话剧《雾港》由彭越执导。图纸保存在204室的柜子里。"
    "叉车由郭强驾驶，退货须在七天内提出。小剧场2011年改建。电视坏了找何涛。焊工培训费用为640元。\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    with index_of(tmp_path_factory.mktemp("siblings"), FILES) as kb:
        yield kb


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did the repair of mooring 9 cost?", "mooring 9"),
        ("When does the north quay get new lamps?", "north quay"),
        ("When does the autumn fair take place?", "autumn fair"),
        ("What is the rent of a racing bike?", "racing bike"),
        ("Who approves trips to Jupiter?", "Jupiter"),
        ("What does Otto Falk own?", "Otto Falk"),
        ("When was the house in Birch Street sold?", "Birch Street"),
        ("5号泊位的维修花了多少钱？", "5号"),
        ("南岸灯塔是谁设计的", "南岸"),
        ("秋季展销会什么时候举行？", "秋季"),
        ("国外出差每天补贴多少？", "国外出差"),
        ("仓库的钥匙由谁保管？", "仓库钥匙"),
        ("How many geese may be kept behind the yard?", "geese"),
        ("With which grain is the deck sanded?", "deck"),
        ("What is the fee for a double?", "double"),
        ("Where does the password of the printer lie?", "printer"),
        ("周日加班按几倍计算工资？", "周日"),
        ("话剧《雨巷》由谁执导？", "雨巷"),
        ("305室的柜子里保存着什么？", "305室"),
        ("货车由谁驾驶？", "货车"),
        ("大剧场哪年改建？", "大剧场"),
        ("空调坏了找谁？", "空调坏"),
        ("电工培训费用是多少？", "电工培训费用"),
    ],
)
def test_an_answer_about_a_sibling_is_at_most_likely(kb, question, named):
    answer = kb.ask(question)
    assert answer.strength in ("weak", "none")
    assert not answer.short
    if answer.strength == "weak" or answer.notes:
        assert named in " ".join(answer.notes)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What did it cost to repair mooring number seven?", "4,200"),
        ("What does hiring a tandem bicycle cost per day?", "12 euros"),
        ("When was the Elm Street house sold?", "2019"),
        ("What is owned by Ina Falk?", "mill"),
        ("三号泊位修理花了多少钱？", "四千二百"),
        ("春天的展销会在哪一天？", "4月20日"),
        ("女职工的产假有多少天？", "158"),
        ("北岸的灯塔由谁设计？", "林海"),
        ("What does a scull cost?", "15 euros"),
        ("With what grain do you sand the keel?", "80"),
        ("星期六加班怎么算工资？", "两倍"),
        ("《雾港》的导演是谁？", "彭越"),
    ],
)
def test_other_words_for_the_same_thing_are_no_sibling(kb, question, said):
    answer = kb.ask(question)
    assert said in answer.text
    assert not any("not about" in note or "不是" in note for note in answer.notes)
