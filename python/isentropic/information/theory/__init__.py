"""Closed forms of attention's entropy, noise, sparsity and learning. They apply elementwise to arrays of numbers."""

from ._contrast import *  # noqa: F403
from ._laws import *  # noqa: F403
from ._limits import *  # noqa: F403
from ._noise import *  # noqa: F403
from ._scores import *  # noqa: F403
from ._sparsity import *  # noqa: F403
from ._weights import *  # noqa: F403
