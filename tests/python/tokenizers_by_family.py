"""Small tokenizers that imitate those of well-known models, trained by Hugging Face's tokenizers on any text."""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SIZE = 700

# Tokens in unusual places: with white space on either side, inside words, made of a space, normalised and not.
ODD_TOKENS = [
    AddedToken("<mask>", lstrip=True, special=True, normalized=False),
    AddedToken("[R]", rstrip=True, normalized=False),
    AddedToken("<|both|>", lstrip=True, rstrip=True, special=True, normalized=True),
    AddedToken("word", single_word=True, normalized=True),
    AddedToken("Straße", normalized=True),
    AddedToken(" sp", normalized=False),
    AddedToken("<|x|>", normalized=False),
    AddedToken("<|x|>y", normalized=False, single_word=True),
]


def train(tokenizer, texts, trainer, change=None):
    """A trained tokenizer with the unusual tokens; `change` may edit the JSON in between."""
    tokenizer.train_from_iterator(texts, trainer)
    if change:
        data = json.loads(tokenizer.to_str())
        change(data)
        tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_tokens(ODD_TOKENS)
    return tokenizer


def byte_level(texts, pattern=None, normalizer=None, add_prefix_space=False, special="<|endoftext|>", change=None):
    tokenizer = Tokenizer(models.BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    level = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space, use_regex=pattern is None)
    split = pattern and pre_tokenizers.Split(Regex(pattern), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level]) if pattern else level
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE,
        special_tokens=[special, "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return train(tokenizer, texts, trainer, change)


def gpt2(texts):
    return byte_level(texts)


def llama3(texts):
    def change(data):
        data["model"]["ignore_merges"] = True
        data["model"]["merges"] = data["model"]["merges"][::2] + data["model"]["merges"][1::2]

    tokenizer = byte_level(texts, LLAMA3, special="<|begin_of_text|>", change=change)
    template = processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(), template])
    return tokenizer


def qwen2(texts):
    return byte_level(texts, QWEN2, normalizers.NFC())


def o200k(texts):
    return byte_level(texts, O200K)


def gpt_neox(texts):
    tokenizer = byte_level(texts, normalizer=normalizers.NFC())
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in (8, 4, 3, 2)])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A $A", special_tokens=[])
    return tokenizer


def roberta(texts):
    tokenizer = byte_level(texts, add_prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    return tokenizer


def byte_fallback(texts, normalizer=None, pre_tokenizer=None, decoder=None, fuse=True, bytes_known=True):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    # Words are split for training only, which would otherwise treat the text as a single one.
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoder
    special = ["<unk>", "<s>", "</s>", *(BYTES if bytes_known else BYTES[:128])]
    trainer = trainers.BpeTrainer(vocab_size=SIZE, special_tokens=special, limit_alphabet=90, show_progress=False)

    def change(data):
        data["added_tokens"] = data["added_tokens"][:3]
        data["pre_tokenizer"] = None

    tokenizer = train(tokenizer, texts, trainer, change)
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def llama2_decoder(strip=True):
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(parts + ([decoders.Strip(" ", 1, 0)] if strip else []))


def llama2(texts):
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return byte_fallback(texts, normalizer, decoder=llama2_decoder())


def llama2_metaspace_first(texts):
    first = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return byte_fallback(texts, pre_tokenizer=first, decoder=llama2_decoder(), fuse=False)


def mistral_metaspace(texts):
    decoder = decoders.Metaspace()
    strip = normalizers.Sequence([normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")])
    return byte_fallback(texts, strip, pre_tokenizers.Metaspace(prepend_scheme="first"), decoder, bytes_known=False)


def gemma(texts):
    split = pre_tokenizers.Split(" ", "merged_with_previous")
    return byte_fallback(texts, normalizers.Replace(" ", "▁"), split, llama2_decoder(strip=False))


def bert(texts, lowercase=True, pre_tokenizer=None, normalizer=None):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizer or normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer = train(
        tokenizer, texts, trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def bert_cased(texts):
    return bert(texts, lowercase=False)


def distilbert(texts):
    tokenizer = bert(texts, normalizer=normalizers.BertNormalizer(True, False, False, True))
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer


def clip(texts):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True)]
    )
    tokenizer.decoder = decoders.BPEDecoder("</w>")
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=["<unk>", "<s>"], end_of_word_suffix="</w>", show_progress=False
    )
    return train(tokenizer, texts, trainer)


def other_parts(texts):
    """Pre-tokenizers and normalisers that the others lack."""
    strip = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip(left=False)])
    parts = [
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Punctuation("merged_with_next"),
        pre_tokenizers.Digits(individual_digits=True),
    ]
    tokenizer = bert(texts, pre_tokenizer=pre_tokenizers.Sequence(parts), normalizer=strip)
    tokenizer.decoder = decoders.Sequence([decoders.Strip("s", 2, 1), decoders.WordPiece()])
    return tokenizer


def whitespace(texts):
    parts = [pre_tokenizers.Whitespace(), pre_tokenizers.Digits()]
    tokenizer = bert(texts, pre_tokenizer=pre_tokenizers.Sequence(parts), normalizer=normalizers.NFD())
    tokenizer.decoder = None
    return tokenizer


def split_contiguous(texts):
    split = pre_tokenizers.Split(Regex(r"\b|\d\h|[[:punct:]]|[^\S\w]"), "contiguous", invert=False)
    return bert(texts, pre_tokenizer=split, normalizer=normalizers.Lowercase())


FAMILIES = [
    gpt2, llama3, qwen2, o200k, gpt_neox, roberta, llama2, llama2_metaspace_first, mistral_metaspace, gemma, bert,
    bert_cased, distilbert, clip, other_parts, whitespace, split_contiguous,
]  # fmt: skip
