"""Closed forms of attention's entropy, noise, sparsity and learning. Numbers may be arrays: forms are taken elementwise."""

from ._contrast import *  # noqa: F403
from ._laws import *  # noqa: F403
from ._limits import *  # noqa: F403
from ._noise import *  # noqa: F403
from ._scores import *  # noqa: F403
from ._sparsity import *  # noqa: F403
from ._weights import *  # noqa: F403
