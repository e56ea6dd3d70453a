"""The C++ tokenizer against Hugging Face's, for tokenizers of many families and texts of every kind.

ISENTROPIC_TOKENIZER_TEXTS and ISENTROPIC_TOKENIZER_SEED extend manual runs.
"""

import json
import os
import pathlib
import random
import subprocess
import unicodedata

import pytest

tokenizers = pytest.importorskip("tokenizers")
from tokenizers_by_family import FAMILIES  # noqa: E402

PROGRAM = os.environ.get("ISENTROPIC_TOKENIZER_LINES", "build/tests/tokenizer_lines")
TEXTS = int(os.environ.get("ISENTROPIC_TOKENIZER_TEXTS", "100"))
SEED = int(os.environ.get("ISENTROPIC_TOKENIZER_SEED", "1"))
ROOT = pathlib.Path(__file__).resolve().parents[2]

FRAGMENTS = [
    "the", " The", "word", " word", "words", "information", "attention", "it's", "WE'LL", "don't", " do not", "'s", "n't",
    "Straße", "STRASSE", "İstanbul", "naïve", "e\u0301", "o\u0308\u0323", "ﬁne", "½", "①", "ǅ", "ſ", "K", "Å",
    "日本語", "中文字符", "한국어", "カタカナ", "ﾊﾟ", "العربية", "עברית", "हिन्दी", "ไทย", "Ελληνικά", "русский", "ё", "й",
    "😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "👍🏽", "\u200d", "\u200b", "\ufeff", "\u00ad", "\u202e", "\u180e",
    " ", "  ", "   ", "        ", "\n", "\n\n", "\r\n", "\t", "\t\t", "\x0b", "\x0c", "\x85", "\u00a0", "\u3000", "\u2028",
    "\x00", "\x01", "\x1b", "\x7f", "\x1c", "0", "42", "2026", "1234567", "٣", "²", "Ⅳ", "x²",
    ".", "...", "?!", ",", " , ", "--", "(", "[]", "{}", "<", ">", "|", "&&", "@", "#", "$", "£", "€", "°", "«", "”", "、", "。",
    "▁", "▁▁", "▁the", "Ġ", "Ċ", "##", "##ing", "</w>", "<0x0A>", "<0xE2>", "<unk>", "<s>", "</s>", "[CLS]", "[SEP]",
    "<|endoftext|>", "<|begin_of_text|>", "<mask>", "[R]", "<|both|>", " sp", "<|x|>", "<|x|>y", "http://a.b/c?d=e",
    "\U0001f9ff", "\U00020000", "\U0010ffff", "\ufffd", "\ue000", "\u0378",
]  # fmt: skip


def known_character(random_):
    """A character known to the tables of PCRE2, ICU and Hugging Face."""
    while True:
        code = random_.choice([random_.randrange(0x3000), random_.randrange(0x11000), random_.randrange(0x20000)])
        if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs"):
            return chr(code)


def random_text(random_):
    kind = random_.randrange(6)
    if kind == 0:
        return "".join(known_character(random_) for _ in range(random_.randrange(12)))
    if kind == 1:
        return random_.choice(FRAGMENTS) * random_.randrange(1, 120)
    pieces = [random_.choice(FRAGMENTS) for _ in range(random_.randrange(1, 25))]
    if kind == 2:
        pieces = [p + known_character(random_) for p in pieces]
    return (" " if kind == 3 else "").join(pieces)


def training_texts():
    files = sorted((ROOT / "docs").glob("*.md")) + [ROOT / "README.md"]
    random_ = random.Random(0)
    return [line for f in files for line in f.read_text().splitlines(True)][:2000] + [
        random_text(random_) for _ in range(100)
    ]


def run(arguments, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    result = subprocess.run([PROGRAM, *arguments], input=lines, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def expected(tokenizer, text):
    """None if Hugging Face's code crashes."""
    try:
        ids = tokenizer.encode(text).ids
        return {
            "ids": ids,
            "plain": tokenizer.encode(text, add_special_tokens=False).ids,
            "decoded": tokenizer.decode(ids, skip_special_tokens=False),
            "skipped": tokenizer.decode(ids, skip_special_tokens=True),
            "streamed": tokenizer.decode(ids, skip_special_tokens=False),
        }
    except BaseException as error:  # PanicException is not an Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


@pytest.fixture(scope="module")
def corpus():
    return training_texts()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_same_as_hugging_face(family, corpus, tmp_path):
    tokenizer = family(corpus)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    random_ = random.Random(f"{SEED} {family.__name__}")
    texts = ["", " ", *(random_text(random_) for _ in range(TEXTS))]
    answers = run(["encode", str(tmp_path)], texts).rstrip("\n").split("\n")
    assert len(answers) == len(texts)
    compared = 0
    for text, answer in zip(texts, answers, strict=True):
        wanted = expected(tokenizer, text)
        if wanted is not None:
            assert json.loads(answer) == wanted, repr(text)
            compared += 1
    assert compared > 0.9 * len(texts)


@pytest.mark.parametrize("size", [258, 300, 1500])
def test_training_is_the_same(size, corpus, tmp_path):
    texts = corpus + ["aaaa aaa", "abababab", "the then there them the"] * 3
    special = ["<|endoftext|>", "<pad>"]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    written = run(["train", str(size), *special], texts)
    assert json.loads(written) == json.loads(tokenizer.to_str())
    # Hugging Face's loads the written file, and encodes the same.
    loaded = tokenizers.Tokenizer.from_str(written)
    assert all(loaded.encode(text).ids == tokenizer.encode(text).ids for text in texts[-100:])
