"""The input of an image model for the report: the first image as a small PNG."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Optional

import torch
from torch import Tensor

_LONGEST_SIDE = 448  # pixels


def data_address(pixels: Tensor) -> str:
    """A data URL of pixels ``[3 or 1, height, width]`` in any range, stretched from black to white."""
    pixels = pixels.detach().float().cpu()
    shrink = max(1, -(-max(pixels.shape[1:]) // _LONGEST_SIDE))
    if shrink > 1:
        pixels = torch.nn.functional.avg_pool2d(pixels[None], shrink, ceil_mode=True)[0]
    low, high = pixels.amin(), pixels.amax()
    levels = (255 * (pixels - low) / (high - low).clamp(min=1e-12)).round().to(torch.uint8)
    if len(levels) == 1:
        levels = levels.expand(3, -1, -1)
    return "data:image/png;base64," + base64.b64encode(_png(levels[:3])).decode()


def _png(levels: Tensor) -> bytes:
    _, height, width = levels.shape
    rows = torch.zeros(height, 1 + 3 * width, dtype=torch.uint8)  # each starts with its filter type: none
    rows[:, 1:] = levels.permute(1, 2, 0).reshape(height, 3 * width)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    packed = zlib.compress(bytes(rows.flatten().tolist()), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def grid(pixels: Tensor, config) -> Optional[tuple[int, int]]:
    """Rows and columns of patches, from the model's configuration; None if it does not say."""
    config = getattr(config, "vision_config", config)
    patch = getattr(config, "patch_size", None)
    if patch is None or pixels.dim() != 4:
        return None
    tall, wide = patch if isinstance(patch, (tuple, list)) else (patch, patch)
    return pixels.shape[2] // tall, pixels.shape[3] // wide
