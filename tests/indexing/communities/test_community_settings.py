"""Settings of communities: algorithm, size, levels, resolution."""

import pytest
from tests.indexing.communities.worlds import all_documents

import knotwork
from knotwork._config import CommunitySettings
from knotwork._indexing.communities.detection import USUAL_SIZE, CommunityOptions
from knotwork.errors import UnknownName

pytestmark = pytest.mark.slow


def open_index(path, **settings):
    return knotwork.open(path, embedding_model="none", **settings)


def levels_of(base):
    base.communities.update()
    return [len(level) for level in base.store.communities.levels()]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "index.knot"
    with open_index(path) as base:
        base.index_documents(all_documents())
        base.communities.update()
    return path


def test_the_defaults_match_the_settings():
    assert CommunityOptions.of(CommunitySettings()) == CommunityOptions()


def test_smaller_communities_make_more_levels_and_a_limit_fewer(path):
    with open_index(path, communities_max_size=3) as base:
        several = levels_of(base)
        assert len(several) > 1
    with open_index(path, communities_max_size=3, communities_levels=1) as base:
        assert levels_of(base) == several[:1]


def test_other_settings_rebuild_communities_and_equal_ones_do_not(path):
    with open_index(path) as base:
        assert base.communities.is_current()
    with open_index(path, communities_max_size=3) as base:
        assert not base.communities.is_current()
        base.communities.update()
        assert base.communities.is_current()
    with open_index(path) as base:
        assert not base.communities.is_current()


def test_a_question_about_the_whole_finds_communities_by_the_settings(path):
    with open_index(path, communities_max_size=3) as base:
        assert base.ask("What are these documents about?").answered
        assert base.communities.is_current()
        assert len(base.store.communities.levels()) > 1


@pytest.mark.parametrize("algorithm", ["leiden", "louvain", "label_propagation"])
def test_every_algorithm_finds_communities(path, algorithm):
    with open_index(path, communities_algorithm=algorithm) as base:
        assert sum(levels_of(base)) > 0


def test_an_unknown_algorithm_is_refused_by_name(path):
    with (
        open_index(path, communities_algorithm="liden") as base,
        pytest.raises(UnknownName, match="leiden"),
    ):
        base.communities.update()


def test_a_finer_resolution_finds_at_least_as_many(path):
    with open_index(path, communities_resolution=0.1) as base:
        few = levels_of(base)[0]
    with open_index(path, communities_resolution=8) as base:
        assert levels_of(base)[0] > few


def test_a_small_index_has_smaller_communities_than_a_large_one():
    sizes = [CommunityOptions().division(entities).max_size for entities in (0, 40, 160, 10_000)]
    assert sizes == sorted(sizes)
    assert 0 < sizes[0] < sizes[2] < sizes[3] == USUAL_SIZE
    assert CommunityOptions(max_size=7).division(10_000).max_size == 7


def test_each_option_changes_the_mark():
    options = [
        CommunityOptions(),
        CommunityOptions(max_size=USUAL_SIZE),
        CommunityOptions(levels=2),
    ]
    assert len({option.fingerprint for option in options}) == 3
