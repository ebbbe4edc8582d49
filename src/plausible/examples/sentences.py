"""Sentences with a part of speech for each word, made for examples of sequence labelling."""

from __future__ import annotations

from typing import NamedTuple

_TEXT = """
the/D old/A cat/N sleeps/V
a/D dog/N barks/V
the/D dog/N sees/V a/D cat/N
she/P sees/V the/D black/A dog/N
he/P walks/V to/I the/D market/N
the/D children/N play/V in/I the/D garden/N
a/D play/N opens/V in/I the/D old/A theatre/N
they/P play/V a/D game/N
the/D game/N begins/V at/I noon/N
we/P walk/V home/R slowly/R
the/D walk/N was/V long/A
a/D long/A walk/N tires/V the/D children/N
he/P runs/V quickly/R
the/D run/N ends/V at/I the/D river/N
fish/N swim/V in/I the/D river/N
we/P fish/V in/I the/D lake/N
they/P fish/V slowly/R
the/D fish/N was/V small/A
she/P books/V a/D room/N
the/D books/N are/V old/A
old/A books/N are/V cheap/A
he/P reads/V the/D small/A book/N
we/P book/V a/D table/N at/I noon/N
the/D table/N is/V small/A and/C black/A
a/D cat/N and/C a/D dog/N sleep/V
they/P sleep/V and/C dream/V
the/D dream/N was/V strange/A
she/P dreams/V of/I the/D river/N
dreams/N are/V strange/A
the/D light/N is/V low/A
light/A books/N are/V cheap/A
we/P light/V a/D lamp/N
the/D lamp/N lights/V the/D room/N
he/P paints/V the/D old/A boat/N
the/D paints/N dry/V quickly/R
dry/A wood/N burns/V well/R
they/P dry/V the/D fish/N
the/D well/N is/V dry/A
she/P sings/V well/R
the/D cheap/A boat/N leaks/V
"""


class TaggedSentences(NamedTuple):
    """Words of sentences, and the label of each."""

    words: list[list[str]]
    labels: list[list[str]]


def tagged_sentences() -> TaggedSentences:
    """Forty short sentences; many words ("play", "fish", "well") have several parts of speech, by their neighbours.

    Labels: D determiner, N noun, V verb, A adjective, R adverb, P pronoun, I preposition, C conjunction.

    >>> words, labels = tagged_sentences()
    >>> len(words), words[1], labels[1]
    (40, ['a', 'dog', 'barks'], ['D', 'N', 'V'])
    """
    pairs = [[token.rpartition("/") for token in line.split()] for line in _TEXT.strip().splitlines()]
    words = [[word for word, _, _ in sentence] for sentence in pairs]
    return TaggedSentences(words, [[label for _, _, label in sentence] for sentence in pairs])
