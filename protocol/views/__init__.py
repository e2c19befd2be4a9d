"""Views: parts of the answer that devices are asked for; a device's public key decides its view (SPEC 7.3).

``view`` defines the views of a campaign, their wire form and the choice of a device's view, and ``maps`` the
coarsenings. ``certificate`` computes the certificates of all views.
"""

from protocol.views.certificate import certificates_of, worst_of
from protocol.views.maps import Coarse, Districts, Identity, Map, QuestionsMap
from protocol.views.view import (
    MAX_VIEWS,
    MAX_WEIGHT,
    View,
    decode,
    encode,
    is_plain,
    plain_views,
    require_every_question,
    require_view_inputs,
    require_views,
    view_of,
)

__all__ = [
    "MAX_VIEWS", "MAX_WEIGHT",
    "Coarse", "Districts", "Identity", "Map", "QuestionsMap", "View",
    "certificates_of", "decode", "encode", "is_plain", "plain_views", "require_every_question",
    "require_view_inputs", "require_views", "view_of", "worst_of",
]  # fmt: skip
