"""The command line of these programs: `-model NAME -parameter value …` gives one JSON object."""

import inspect
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

Figures = dict[str, float]

# A parameter's type says how its text is read; a list of texts is parted by commas.
READERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: float,
    str: str,
    Sequence[int]: lambda text: [int(word) for word in text.split()],
    Sequence[float]: lambda text: [float(word) for word in text.split()],
    Sequence[str]: lambda text: [part.strip() for part in text.split(",")],
}


def run(*models: Callable[..., Figures]) -> None:
    """Computes the model that the command line names and prints its figures."""
    words = sys.argv[1:]
    options = {name.removeprefix("-"): value for name, value in zip(words[::2], words[1::2])}
    by_name = {model.__name__: model for model in models}
    model = by_name.get(options.pop("model", ""))
    if model is None:
        sys.exit(f"error: -model must be one of {', '.join(by_name)}")
    try:
        print(json.dumps(model(**arguments(model, options))))
    except (TypeError, ValueError) as error:
        sys.exit(f"error: {error}")


def arguments(model: Callable[..., Figures], options: dict[str, str]) -> dict[str, Any]:
    """The options as values of the model's parameters."""
    parameters = inspect.signature(model).parameters
    if unknown := options.keys() - parameters.keys():
        raise ValueError(f"{model.__name__} has no {sorted(unknown)}, but {list(parameters)}")
    return {name: READERS[parameters[name].annotation](text) for name, text in options.items()}
