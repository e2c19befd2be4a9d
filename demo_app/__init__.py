"""The phone app: it shows a person the questions, the reports, their cost and what they reveal.

The SDK makes every decision; the app only shows the results. ``model`` uses no window, and ``screens`` no device.

``python -m demo_app`` runs it. It imports ``edge_sdk`` only, and nothing imports it.
"""
