"""The invitation to a campaign: its link, a QR code of the link, and a poster with the question and the promise.

invitation  the link of a campaign
qr          the QR code of a link
wording     the fixed texts of a poster, in English and German
content     all texts of a poster, in one language
layout      positions on the page, in millimetres
poster      the page as SVG, PDF, PNG and HTML
cards       cards with single-use codes
"""
