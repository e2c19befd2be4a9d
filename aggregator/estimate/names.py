"""The names of estimation methods and of ways to pool classes."""

from __future__ import annotations

METHODS = ("projection", "empirical-bayes", "em", "smooth", "mmse", "map", "linear")
"""How the consistent distribution is made: see ``distribution``, ``bayes``, ``likelihood`` and ``smoothed``.

"linear" leaves the raw estimate as it is.
"""

VIEW_METHODS = ("projection", "linear")
"""The methods of campaigns whose devices are asked for views, and of estimates weighted to known margins; the first is
the default."""

POOLS = ("heads", "precision")
"""How classes are put together: every report counts alike, which estimates the shares of everybody who reports; or each
class by how sure it is, where all have the same shares."""
