"""A model as a scan needs it: with this library's attention, without a cache, its logits never materialised whole."""

from __future__ import annotations

import contextlib
import inspect
import os
from typing import Iterator, Optional, Union

import torch
from torch import Tensor, nn

from .. import _unseen, hf
from .._hf_adapt import attention_modules, options_of
from ..losses import linear_cross_entropy
from ..maps import ScoreMap
from ..scales import Scale
from ..sdpa import replace_sdpa
from .observer import SAMPLED_ROWS, weights_at_once

_LOGITS_AT_ONCE = 256  # rows of them
_COMPARED_LOGITS = 4


class ScannedModel:
    def __init__(self, model: Union[str, nn.Module], tokenizer, name: Optional[str], **loading):
        self.tokenizer = tokenizer
        if isinstance(model, str):
            name = name or model
            model, self.tokenizer = _load(model, tokenizer, **loading)
        elif not isinstance(model, nn.Module):
            raise TypeError(f"model is a {type(model).__name__}; expected a module, or the name of a checkpoint")
        self.module = model
        self._has_plain_head: Optional[bool] = None  # unknown until there are hidden states
        self.config = getattr(model, "config", None)
        self.is_hf = hasattr(model, "_can_set_attn_implementation")
        self.name = name or getattr(self.config, "_name_or_path", "") or type(model).__name__
        if self.tokenizer is None and self.is_hf and getattr(self.config, "_name_or_path", ""):
            self.tokenizer = _tokenizer(self.config._name_or_path)

    # ---- properties ----

    @property
    def family(self) -> str:
        return getattr(self.config, "model_type", "") or type(self.module).__name__

    @property
    def is_encoder_decoder(self) -> bool:
        return bool(getattr(self.config, "is_encoder_decoder", False))

    @property
    def parameters(self) -> int:
        if self.is_hf:  # counts weights that are packed several to a number
            return self.module.num_parameters()
        return sum(parameter.numel() for parameter in self.module.parameters())

    @property
    def _text_config(self):
        return self.config.get_text_config() if hasattr(self.config, "get_text_config") else self.config

    @property
    def positions(self) -> Optional[int]:
        """The longest text it was made for; None: unknown."""
        if self.config is None:
            return None
        known = [
            getattr(self._text_config, "max_position_embeddings", None),
            getattr(self.tokenizer, "model_max_length", None),
        ]
        sensible = [int(n) for n in known if isinstance(n, (int, float)) and 0 < n < 1e9]
        return min(sensible, default=None)

    @property
    def scale_and_map(self) -> tuple[str, str]:
        """Those of models trained by this project and of adapted models; for every other model the usual ones."""
        scale, map_ = self._own_scale_and_map
        given = [options_of(module) for _, module in attention_modules(self.module)]
        return _of_layers(given, "scale", scale), _of_layers(given, "map", map_)

    @property
    def _own_scale_and_map(self) -> tuple[str, str]:
        section = getattr(self.config, "isentropic", None) or {}

        def text(words: Union[str, dict], key: str, usual: str) -> str:
            if isinstance(words, str):
                return words
            words = dict(words)
            name = words.pop(key, usual)
            options = ",".join(
                f"{option}={value:g}" for option, value in words.items() if isinstance(value, (int, float))
            )
            return f"{name}:{options}" if options else name

        return text(section.get("scale", {}), "law", "inverse_sqrt_d"), text(section.get("map", {}), "name", "softmax")

    @property
    def device(self) -> torch.device:
        """Where inputs go. Weights that accelerate keeps on disk are on no device until they are needed."""
        devices = (parameter.device for parameter in self.module.parameters())
        return next((device for device in devices if device.type != "meta"), torch.device("cpu"))

    def check_ids(self, ids: Optional[Tensor]) -> None:
        table = self.module.get_input_embeddings() if self.is_hf and ids is not None else None
        vocabulary = getattr(table, "num_embeddings", None)
        if vocabulary is not None and ids.numel() > 0 and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary:
            wrong = int(ids.min()) if int(ids.min()) < 0 else int(ids.max())
            raise ValueError(f"input_ids has {wrong}; expected integers from 0 to {vocabulary - 1}")

    # ---- running it ----

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Evaluation mode, this library's attention, no gradients; afterwards everything is restored."""
        training = self.module.training
        implementation = getattr(self.config, "_attn_implementation", None) if self.is_hf else None
        self.module.eval()
        try:
            if self.is_hf:
                hf.register()
                if self.module._can_set_attn_implementation():
                    self.module.set_attn_implementation(hf.NAME)
            with torch.no_grad(), replace_sdpa():
                self._body = self._find_body()
                yield
        finally:
            self.module.train(training)
            if implementation is not None and self.config._attn_implementation != implementation:
                self.module.set_attn_implementation(implementation)

    def run(self, inputs: dict) -> Optional[Tensor]:
        """One forward pass without logits. Returns the hidden states that they are computed from, if there are any."""
        inputs = {key: value.to(self.device) if isinstance(value, Tensor) else value for key, value in inputs.items()}
        inputs |= {"use_cache": False, "return_dict": True}
        if self._body is None:
            return self._run_whole(inputs)
        self._output = self._body(**_accepted(self._body, inputs))
        return getattr(self._output, "last_hidden_state", None)

    def _run_whole(self, inputs: dict) -> Optional[Tensor]:
        head = self._head()
        kept: list[Tensor] = []
        with contextlib.ExitStack() as stack:
            if head is not None:  # one logit instead of one for each token of the vocabulary
                stack.enter_context(_forward_replaced(head, lambda x, *_, **__: kept.append(x) or x[..., :1]))
            self.module(**_accepted(self.module, inputs))
        return kept[-1] if kept else None

    def loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """The mean of -log p of ``targets`` ``[batch, m]``, which the last m ``hidden`` states predict."""
        hidden = hidden[:, -targets.shape[1] :]
        if hidden.is_cuda and not targets.is_cuda:
            targets = targets.pin_memory().to(hidden.device, non_blocking=True)
        if self._has_plain_head is None:
            self._has_plain_head = self._finds_plain_head(hidden[:, :_COMPARED_LOGITS])
        if self._has_plain_head:
            head, targets = self._head(), targets.to(hidden.device)
            found = linear_cross_entropy(
                hidden, head.weight, targets, bias=head.bias, source_entropy=0.0, reduction="none"
            )
            return _double(found.loss).sum() / targets.numel()
        losses = 0.0
        for first in range(0, targets.shape[1], _LOGITS_AT_ONCE):
            part = slice(first, first + _LOGITS_AT_ONCE)
            logits = self._logits(hidden[:, part]).float()
            wanted = targets[:, part].to(logits.device)
            found = nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="sum")
            losses = losses + _double(found)
        return losses / targets.numel()

    def _finds_plain_head(self, hidden: Tensor) -> bool:
        """Whether logits are just a linear map of the hidden states: no cap, no factor, no other sum."""
        head = self._head()
        if type(head) is not nn.Linear or "forward" in vars(head):
            return False
        weight = head.weight
        if (weight.device, weight.dtype) != (hidden.device, hidden.dtype) or not _is_real(weight):
            return False
        return torch.equal(self._logits(hidden).float(), nn.functional.linear(hidden, weight, head.bias).float())

    def _logits(self, hidden: Tensor) -> Tensor:
        """Logits as the model computes them, with all it does to them: its own forward, given the hidden states."""
        if self._body is None:
            return self._head()(hidden)
        self._output.last_hidden_state = hidden
        with _forward_replaced(self._body, lambda *_, **__: self._output):
            return self._run_on_blanks(hidden.shape[:2]).logits

    def _run_on_blanks(self, shape: tuple[int, int]):
        tokens = torch.zeros(shape, dtype=torch.long, device=self.device)
        names = ("decoder_input_ids", "input_ids") if self.is_encoder_decoder else ("input_ids",)
        inputs = {name: tokens for name in names} | {"use_cache": False, "return_dict": True}
        return self.module(**_accepted(self.module, inputs))

    def _find_body(self) -> Optional[nn.Module]:
        """The part of the model that its forward calls for the hidden states, before it computes logits."""
        body = getattr(self.module, "base_model", None) if self.is_hf else None
        if body is None or body is self.module or self._head() is None:
            return None

        class Called(Exception):
            pass

        def stop(*_, **__):
            raise Called

        try:
            with _forward_replaced(body, stop):
                self._run_on_blanks((1, 1))
        except Called:
            return body
        except Exception:  # it needs more than tokens, or calls parts of its body
            pass
        return None

    def _head(self) -> Optional[nn.Module]:
        return self.module.get_output_embeddings() if self.is_hf else None

    # ---- layers and memory ----

    def refuse_unseen(self, seen: set[str], ran: dict[str, nn.Module]) -> None:
        """ValueError for a model of which no attention was seen."""
        if seen:
            return
        if ran and not any(map(_unseen.is_attention, self.module.modules())):
            kinds = list(dict.fromkeys(type(module).__name__ for module in ran.values()))
            shown = ", ".join(kinds[:6]) + (", ..." if len(kinds) > 6 else "")
            raise ValueError(f"{self.name} has no attention: none of its modules is one ({shown})")
        reasons = _unseen.attention(self.module, ran, set()) or {"": _unseen.nothing(self.module, bool(ran))}
        where, why = next(iter(reasons.items()))
        raise ValueError(f"{self.name} shows no attention, not in {where or type(self.module).__name__}: {why}")

    def other_layers(self, seen: set[str], ran: dict[str, nn.Module]) -> list[str]:
        """Layers without attention, and attention that was not seen; ``seen`` includes the modules around it."""
        others = []
        lists: list[str] = []
        for name, module in self.module.named_modules():
            if not isinstance(module, nn.ModuleList) or not any(layer.startswith(f"{name}.") for layer in seen):
                continue
            if name.startswith(tuple(f"{around}." for around in lists)):  # of the parts of a layer
                continue
            lists.append(name)
            for number, block in module.named_children():
                here = f"{name}.{number}"
                if here in ran and here not in seen:
                    kinds = [type(child).__name__ for child in block.children()]
                    others.append(f"{here}: {type(block).__name__} ({', '.join(dict.fromkeys(kinds))})")
        listed = [other.partition(":")[0] for other in others]
        for name in _unseen.attention(self.module, ran, seen):
            if not any(f"{name}.".startswith(f"{block}.") for block in listed):
                others.append(f"{name}: {type(self.module.get_submodule(name)).__name__}, not seen")
        return others

    def memory(self, length: int) -> int:
        """Approximate memory of a window, in bytes, not counting the weights."""
        config = self._text_config
        width = getattr(config, "hidden_size", 0) or 0
        wide = getattr(config, "intermediate_size", None) or 4 * width
        heads = getattr(config, "num_attention_heads", 0) or 0
        weights = max(heads * length, min(2 * SAMPLED_ROWS * heads * length, weights_at_once(self.device)))
        numbers = length * (8 * width + 3 * wide + 24 * heads) + weights
        return 4 * numbers + 8 * heads * length


def _of_layers(given: list[dict], option: str, own: str) -> str:
    """What the layers of an adapted model have instead of the model's own scale or map, in words."""
    changed = [options[option] for options in given if option in options]
    if not changed:
        return own
    words = list(dict.fromkeys(map(_words, changed)))
    if len(changed) < len(given):
        words.append(own)
    return words[0] if len(words) == 1 else f"{' and '.join(words[:2])}{' and others' * (len(words) > 2)}, by layer"


def _words(law: Union[Scale, ScoreMap]) -> str:
    name, arguments = (law.law, law.arguments) if isinstance(law, Scale) else (law.name, law.options)
    parameters = []
    for option, value in arguments:
        if isinstance(value, bool):
            parameters.append(f"{option}={str(value).lower()}")
        elif isinstance(value, (int, float)):
            parameters.append(f"{option}={value:g}")
        elif value is not None:
            parameters.append(f"{option} by head")
    return f"{name}:{','.join(parameters)}" if parameters else name


def _double(x: Tensor) -> Tensor:
    """In float64, on the CPU for devices that do not have it."""
    return x.double() if x.device.type in ("cpu", "cuda") else x.cpu().double()


def _is_real(weight: Tensor) -> bool:
    return type(weight) in (Tensor, nn.Parameter) and weight.is_floating_point()


def _load(name: str, tokenizer, **loading):
    try:
        import transformers
    except ImportError as error:
        raise ImportError("models by name need transformers 5.17 or newer: pip install transformers") from error
    if name.startswith((".", "/", "~")) and not os.path.isdir(name):  # nor is it the name of a checkpoint on the hub
        raise ValueError(f"model is {name}, which is no folder; expected a checkpoint of transformers")
    config = transformers.AutoConfig.from_pretrained(name)
    made = getattr(transformers, (config.architectures or [""])[0], None) or transformers.AutoModel
    model, info = made.from_pretrained(name, output_loading_info=True, **({"dtype": "auto"} | loading))
    missing = sorted(info["missing_keys"])
    if missing:  # transformers would continue with random numbers there
        raise ValueError(f"{name} has no {missing[0]}; expected all of the {len(missing)} tensors that are missing")
    return model, tokenizer or _tokenizer(name)


def _tokenizer(name: str):
    import transformers

    try:
        return transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError):
        return None  # reported where a text is to be read


def _accepted(module: nn.Module, arguments: dict) -> dict:
    """The arguments that the module's forward takes."""
    parameters = inspect.signature(module.forward).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        optional = {"use_cache", "return_dict"}  # other modules would pass them on
        takes_them = not optional.isdisjoint(parameters) or hasattr(module, "_can_set_attn_implementation")
        return {key: value for key, value in arguments.items() if takes_them or key not in optional}
    return {key: value for key, value in arguments.items() if key in parameters}


@contextlib.contextmanager
def _forward_replaced(module: nn.Module, forward) -> Iterator[None]:
    own = vars(module).get("forward")  # accelerate puts one there
    module.forward = forward
    try:
        yield
    finally:
        del module.forward
        if own is not None:
            module.forward = own
