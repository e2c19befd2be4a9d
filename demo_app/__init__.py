"""The phone app: it shows a person the questions, the reports, their cost and what they reveal.

The app shows what the SDK decided and decides nothing itself. ``model`` has no window, ``screens`` no device.

``python -m demo_app`` runs it. It imports ``edge_sdk`` only, and nothing imports it.
"""
