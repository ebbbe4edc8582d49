"""`plausible label`: learn to label the tokens of texts in columns, and label those of others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import plausible as pb
from plausible.cli.commands import command
from plausible.cli.options import AsJson, argument, option
from plausible.cli.output import input_name, is_standard, output_name, piped_bytes, print_answer, print_line
from plausible.errors import FormatError, InvalidArgument, MissingFile, counted, suggestion
from plausible.learn.labelling.column_text import Sentence, parse_columns, window_features

_ACTIONS = {"train": "FILE", "tag": "MODEL FILE"}


@command(
    examples=(
        "plausible label train tagged.txt -o model.json",
        "plausible label tag model.json text.txt -o answers.txt",
    ),
    notes=(
        "A file has a line for each token with blanks between its cells, and an empty line between sentences. To "
        "train, the last cell is the label. Features are the cells of a token and its neighbours, and pairs of them.",
    ),
)
def run_label(
    action: Annotated[str, argument("train, or tag.", metavar="train|tag")],
    files: Annotated[list[Path], argument("FILE to train; MODEL and FILE to tag. A FILE may be -.", metavar="FILES")],
    output: Annotated[
        Path | None, option("The file to write: the model (JSON), or the tagged text.", "--output", "-o")
    ] = None,
    variance: Annotated[float, option("Of the prior of each weight; the smaller, the smoother.")] = 1.0,
    reach: Annotated[int, option("How many neighbours before and after a token count.", min=0)] = 2,
    as_json: AsJson = False,
) -> None:
    """Learn to label the tokens of texts, and label them.

    To train, a chain CRF is learned from the last column given the others. To tag, each line gets one more cell, the
    label; where the text has labels already, it is told how many of them are the same.
    """
    if action not in _ACTIONS:
        raise InvalidArgument(f"{action!r} is neither train nor tag.{suggestion(action, _ACTIONS)}")
    if len(files) != len(_ACTIONS[action].split()):
        raise InvalidArgument(f"Write: plausible label {action} {_ACTIONS[action]}.")
    if action == "train":
        _train(files[0], output, variance, reach, as_json)
    else:
        _tag(files[0], files[1], output, as_json)


def _train(file: Path, output: Path | None, variance: float, reach: int, as_json: bool) -> None:
    if output is None:
        raise InvalidArgument("Name the file for the model: --output model.json.")
    sentences = _read(file)
    if len(sentences[0][0]) < 2:
        raise FormatError(f"{input_name(file)} has one column: tokens need at least one cell before their label.")
    labels = [[row[-1] for row in sentence] for sentence in sentences]
    features = [window_features([row[:-1] for row in sentence], reach) for sentence in sentences]
    crf = pb.learn.ChainCRF(prior=pb.GaussianPrior(variance)).fit(features, labels)
    crf.save(output)
    num_tokens, training = sum(map(len, sentences)), crf.training_
    text = (
        f"{output_name(output)}: {counted(len(crf.classes_), 'label')}, {counted(training.num_weights, 'weight')}, "
        f"from {counted(num_tokens, 'token')} of {counted(len(sentences), 'sentence')}; {training.stopped_by} after "
        f"{counted(training.num_steps, 'step')}"
    )
    document = {"output": str(output), "sentences": len(sentences), "tokens": num_tokens, **training.to_dict()}
    print_answer(text, {**document, "labels": list(crf.classes_)}, as_json=as_json)


def _tag(model: Path, file: Path, output: Path | None, as_json: bool) -> None:
    if not model.exists():
        raise MissingFile.at(model, (".json",))
    crf, sentences = pb.learn.ChainCRF.load(model), _read(file)
    windows = [match for name in crf.vocabulary_.names if (match := re.match(r"(\d+)\[([-+]?\d+)\]=", name))]
    width = max((int(match[1]) for match in windows), default=0) + 1
    reach, given = max((abs(int(match[2])) for match in windows), default=0), len(sentences[0][0])
    if given not in (width, width + 1):
        raise FormatError(
            f"{input_name(file)} has {counted(given, 'column')}, but the model was trained on {width} and a label."
        )
    features = [window_features([row[:width] for row in sentence], reach) for sentence in sentences]
    labels = crf.predict(features)
    lines = [
        "\n".join(" ".join([*row, str(label)]) for row, label in zip(sentence, one, strict=True))
        for sentence, one in zip(sentences, labels, strict=True)
    ]
    text, told = "\n\n".join(lines) + "\n", _told(sentences, labels, has_truth=given > width)
    if output is not None and not is_standard(output):
        output.write_text(text, encoding="utf-8")
        print_answer(f"{output_name(output)}: {told.pop('text')}", {"output": str(output), **told}, as_json=as_json)
    elif as_json:
        print_answer("", {"labels": labels, **told}, as_json=True)
    else:
        print_line(text.rstrip("\n"))


def _told(sentences: list[Sentence], labels: list[list[Any]], *, has_truth: bool) -> dict[str, Any]:
    """How many tokens were labelled, and how many as the text says, where it does."""
    num_tokens = sum(map(len, sentences))
    text = f"{counted(num_tokens, 'token')} of {counted(len(sentences), 'sentence')} labelled"
    if not has_truth:
        return {"tokens": num_tokens, "text": text}
    pairs = [pair for sentence, one in zip(sentences, labels, strict=True) for pair in zip(sentence, one, strict=True)]
    num_right = sum(row[-1] == label for row, label in pairs)
    return {"tokens": num_tokens, "right": num_right, "text": f"{text}, {num_right} as told"}


def _read(file: Path) -> list[Sentence]:
    if not is_standard(file) and not file.exists():
        raise MissingFile.at(file, (".txt", ".conll"))
    data = piped_bytes() if is_standard(file) else file.read_bytes()
    try:
        return parse_columns(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise FormatError(f"{input_name(file)} is no text in UTF-8.") from None
    except FormatError as error:
        raise error.in_file(input_name(file)) from None
