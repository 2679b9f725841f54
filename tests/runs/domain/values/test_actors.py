import pytest

from runs.domain.values.actors import Source


@pytest.mark.parametrize("source", Source)
def test_every_channel_has_a_name_and_an_end_for_a_sentence(source: Source) -> None:
    assert source.label[0].isupper()
    assert source.where.startswith(("in ", "on ", "through ", "for ", "by "))
