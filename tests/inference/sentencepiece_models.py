"""Build the sentencepiece model of multilingual-e5-small, as an independent reference."""

import io

from knotwork._extensions.local_models.e5 import PackedModel

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_UNIGRAM = 1


def build_sentencepiece(packed: PackedModel):
    """Return a processor with the pieces of a packed model and the normalisation nmt_nfkc.

    XLM-R, the base of the model, differs from nmt_nfkc in a few invisible characters, as the
    zero-width joiner, which XLM-R replaces with a space.
    """
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a few words to train a model that is not used"] * 10),
        model_writer=written,
        vocab_size=22,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=2,
    )
    trained = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    model = sentencepiece_model_pb2.ModelProto()
    text, offsets = packed.text.tobytes(), packed.offsets.tolist()
    for number, score in enumerate(packed.scores.tolist()):
        piece = text[offsets[number] : offsets[number + 1]].decode()
        model.pieces.add(piece=piece, score=score, type=_NORMAL)
    for number in (0, 1, 2):
        model.pieces[number].type = _CONTROL
    model.pieces[packed.unknown].type = _UNKNOWN
    model.normalizer_spec.CopyFrom(trained.normalizer_spec)
    spec = model.trainer_spec
    spec.CopyFrom(trained.trainer_spec)
    spec.model_type = _UNIGRAM
    spec.vocab_size = len(model.pieces)
    spec.bos_id, spec.pad_id, spec.eos_id, spec.unk_id = 0, 1, packed.end, packed.unknown
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
