"""The invitation to a study: its link, a QR code of the link, and a poster with the question and the promise.

invitation  the link of a campaign, and for whom it is refused
code        the QR code, and how a terminal shows it
wording     what a poster says beside the campaign's own texts, in English and German
content     what stands on a poster, in one language
layout      where it stands on a page, in millimetres
poster      the page as SVG, PDF, PNG and HTML
"""
