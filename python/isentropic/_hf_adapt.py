"""Gives a Hugging Face model a scale law, score map or target entropy that it was not trained with."""

from __future__ import annotations

import contextlib
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union

import torch
from torch import nn

from . import _unseen, _vocabulary
from .maps import ScoreMap
from .scales import Scale

AnyScale = Union[None, float, str, torch.Tensor, Scale, Mapping[str, object]]
AnyMap = Union[None, str, ScoreMap, Mapping[str, object]]
Change = Optional[Mapping[str, object]]  # {"scale": ..., "map": ...} of one layer
PerLayer = Union[Mapping[Union[int, str], Change], Sequence[Change], Callable[[int, str], Change]]
Model = TypeVar("Model", bound=nn.Module)

_OPTIONS = "_isentropic_options"  # of an attention module: what replaces its own scale and map
_BEFORE = "_isentropic_before"  # of a model: what restore() restores


def adapt(
    model: Model,
    scale: AnyScale = None,
    map: AnyMap = None,
    per_layer: Optional[PerLayer] = None,
    scale_values: Optional[Sequence[Sequence[float]]] = None,
) -> Model:
    """Gives every attention layer of a transformers model another scale law or score map, and returns the model.

    ::

        model = isentropic.hf.adapt(model, scale=isentropic.Scale.log_n(0.9))
        model = isentropic.hf.adapt(model, scale="target_entropy:target=2.5", per_layer={0: None})
        model = isentropic.hf.adapt(model, **json.load(open("kappa.json"))["isentropic"])

    A law replaces the model's own scaling, whatever that is: 1 / sqrt d, Gemma's ``query_pre_attn_scalar``, Granite's
    ``attention_multiplier``. Masks, soft caps, sinks, position biases and the effect of rotary scaling on queries and
    keys are unchanged. The model's ``attn_implementation`` is set to "isentropic"; :func:`restore` and :func:`adapted`
    undo all of this. Nothing of it is saved with the model.

    Args:
        model: a transformers model.
        scale: a :class:`isentropic.Scale`, a number (a constant scale), a law as the program writes it ("log_n",
            "log_n:kappa=0.9", "log_n:0.9") or as a config.json does ({"law": "log_n", "kappa": 0.9}). None leaves the
            scale to the model.
        map: a :class:`isentropic.ScoreMap`, "top_k:keys=64" or {"name": "top_k", "keys": 64}. None leaves the map to
            the model.
        per_layer: changes for individual layers, by number or by module name, such as {3: {"scale": "log_n"}}, with
            None for a layer that keeps the model's own; or a list with an entry for each layer; or a function of number
            and name.
        scale_values: the first learnable parameter of the law by layer and head, as ``isentropic scan --solve-kappa``
            writes it.
    """
    layers = attention_modules(model)
    changes = _changes(layers, scale, map, per_layer, scale_values)
    _require_interface(model)
    before = getattr(model, _BEFORE, None) or _State.of(model, layers)
    from .hf import NAME, register

    register()
    model.set_attn_implementation(NAME)
    setattr(model, _BEFORE, before)
    for (_, module), change in zip(layers, changes):
        module.__dict__[_OPTIONS] = change
    return model


def restore(model: Model) -> Model:
    """Undoes :func:`adapt` and returns the model; a model that was not adapted stays as it is."""
    before = model.__dict__.pop(_BEFORE, None)
    if before is not None:
        before.bring_back(model)
    return model


@contextlib.contextmanager
def adapted(model: Model, *args, **kwargs) -> Iterator[Model]:
    """Context manager for :func:`adapt`: afterwards the model is as it was before, adapted or not."""
    state, outer = _State.of(model, attention_modules(model)), getattr(model, _BEFORE, None)
    try:
        yield adapt(model, *args, **kwargs)
    finally:
        state.bring_back(model)
        model.__dict__.pop(_BEFORE, None)
        if outer is not None:
            setattr(model, _BEFORE, outer)


def options_of(module: nn.Module) -> dict:
    """The ``scale`` and ``map`` that a layer was given by :func:`adapt`, if any."""
    return module.__dict__.get(_OPTIONS, {})


# ---- the model ----


def attention_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The innermost modules that by their name compute attention, in the model's order."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model is a {type(model).__name__}; expected a transformers model")
    found = {name: module for name, module in model.named_modules() if _unseen.is_attention(module)}
    found.pop("", None)
    return [
        (name, module) for name, module in found.items() if not any(other.startswith(f"{name}.") for other in found)
    ]


def _require_interface(model: nn.Module) -> None:
    kind = type(model).__name__
    if not hasattr(model, "set_attn_implementation"):
        raise TypeError(f"model is a {kind}; expected a transformers model, with set_attn_implementation")
    from . import _hf_models

    if not model._can_set_attn_implementation() or any(True for _ in _hf_models.own_tables(type(model))):
        raise ValueError(
            f"model is a {kind}; expected one that uses transformers' attention interface: this one has attention "
            "classes of its own, whose scale and map cannot be changed from outside"
        )


class _State(NamedTuple):
    """What a model had before it was adapted, by module name, so that it also fits copies of the model."""

    implementations: dict[str, Optional[str]]
    options: dict[str, Optional[dict]]

    @staticmethod
    def of(model: nn.Module, layers: list[tuple[str, nn.Module]]) -> _State:
        configs: dict[int, str] = {}  # the outermost module of each
        for name, module in model.named_modules():
            if hasattr(getattr(module, "config", None), "_attn_implementation"):
                configs.setdefault(id(module.config), name)
        implementations = {name: model.get_submodule(name).config._attn_implementation for name in configs.values()}
        return _State(implementations, {name: module.__dict__.get(_OPTIONS) for name, module in layers})

    def bring_back(self, model: nn.Module) -> None:
        for name, implementation in self.implementations.items():  # the whole before its parts, which this also sets
            model.get_submodule(name).config._attn_implementation = implementation
        for name, options in self.options.items():
            module = model.get_submodule(name)
            module.__dict__.pop(_OPTIONS, None)
            if options is not None:
                module.__dict__[_OPTIONS] = options


# ---- arguments ----


def _changes(layers, scale, map, per_layer, scale_values) -> list[dict]:
    """Options for each layer."""
    if not layers:
        raise ValueError("model has no attention modules; expected a transformers model with some")
    whole = {"scale": scale, "map": map}
    values = _values(layers, scale, scale_values)
    asked = [_of_layer(per_layer, number, name) for number, (name, _) in enumerate(layers)]
    _require_known_layers(per_layer, layers)
    out = []
    for number, own in enumerate(asked):
        if own is _UNCHANGED:
            out.append({})
            continue
        chosen = whole | own
        options = {}
        if chosen["scale"] is not None:
            options["scale"] = scale_of(chosen["scale"])
            if values is not None and own.get("scale") is None:
                options["scale"] = with_values(options["scale"], values[number])
        if chosen["map"] is not None:
            options["map"] = map_of(chosen["map"])
        out.append(options)
    return out


_UNCHANGED: dict = {"unchanged": True}


def _of_layer(per_layer: Optional[PerLayer], number: int, name: str) -> dict:
    """The entry of ``per_layer`` for a layer: empty, ``_UNCHANGED``, or a scale and a map."""
    if per_layer is None:
        return {}
    if callable(per_layer):
        change = per_layer(number, name)
    elif isinstance(per_layer, Mapping):
        if number not in per_layer and name not in per_layer:
            return {}
        change = per_layer[number] if number in per_layer else per_layer[name]
    else:
        change = per_layer[number] if number < len(per_layer) else None
    if change is None:
        return _UNCHANGED
    if not isinstance(change, Mapping) or not change.keys() <= {"scale", "map"}:
        raise ValueError(f"per_layer has {change!r} for layer {number}; expected None, or a dict of scale and map")
    return dict(change)


def _require_known_layers(per_layer: Optional[PerLayer], layers: list[tuple[str, nn.Module]]) -> None:
    if per_layer is None or callable(per_layer):
        return
    if not isinstance(per_layer, Mapping):
        if len(per_layer) != len(layers):
            raise ValueError(f"per_layer has {len(per_layer)} entries; expected {len(layers)}, one for each layer")
        return
    known = {*range(len(layers)), *(name for name, _ in layers)}
    for key in per_layer:
        if key not in known:
            names = f"a number below {len(layers)}, or a name such as {layers[0][0]!r}"
            raise ValueError(f"per_layer has the layer {key!r}; expected {names}")


def _values(layers, scale, scale_values) -> Optional[Sequence[Sequence[float]]]:
    if scale_values is None:
        return None
    if scale is None:
        raise ValueError("scale_values is given without a scale; expected the law whose parameter they are")
    if len(scale_values) != len(layers):
        raise ValueError(f"scale_values has {len(scale_values)} entries; expected {len(layers)}, one for each layer")
    return scale_values


def with_values(scale: Scale, values: Sequence[float]) -> Scale:
    learnable = scale.learnable()
    if not learnable:
        raise ValueError(f"scale_values is given with the scale {scale.law}; expected a law with a learnable parameter")
    return scale.replaced(**{next(iter(learnable)): values})


def scale_of(scale: AnyScale) -> Scale:
    return _word("scale", Scale, scale, "law", "inverse_sqrt_d")


def map_of(map: AnyMap) -> ScoreMap:
    return _word("map", ScoreMap, map, "name", "softmax")


def _word(argument: str, kind: type, given, key: str, usual: str):
    """A law or map from a mapping whose ``key`` names it, from a text, or from what ``kind.named`` takes."""
    table = f"{argument}s"
    if isinstance(given, Mapping):
        parameters = dict(given)
        return _named(argument, table, kind, parameters.pop(key, usual), parameters)
    if isinstance(given, str):
        return _from_text(argument, table, kind, given)
    return kind.named(given)


def _from_text(argument: str, table: str, kind: type, text: str):
    """NAME or NAME:PARAMETER=VALUE,..., as the program takes it; names may be omitted if values are in order."""
    name, _, rest = text.partition(":")
    places = list(_vocabulary.PARAMETERS[table].get(name, {}))
    parameters = {}
    for place, part in enumerate(filter(None, rest.split(","))):
        parameter, equals, value = part.rpartition("=")
        if not equals and place >= len(places):
            raise ValueError(f"{argument} is {text!r}; expected {len(places)} values at most")
        parameters[parameter if equals else places[place]] = _value(value)
    return _named(argument, table, kind, name, parameters)


def _value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            pass
    return text


def _named(argument: str, table: str, kind: type, name: object, parameters: dict):
    known = _vocabulary.PARAMETERS[table]
    if name not in known or name == "per_row":
        raise ValueError(
            f"{argument} is {name!r}; expected one of {', '.join(law for law in known if law != 'per_row')}"
        )
    for parameter in parameters:
        if parameter not in known[name]:
            expected = ", ".join(known[name]) or "none"
            raise ValueError(f"parameter of the {argument} {name} is {parameter!r}; expected {expected}")
    made = getattr(kind, name)
    try:
        return made(**parameters)
    except TypeError:
        raise ValueError(
            f"{argument} is {name} with {parameters}; expected values for {', '.join(known[name])}"
        ) from None
