"""The phone app: it shows a person the questions, the reports, their cost and the information that they reveal.

The SDK makes every decision; the app only shows the results. ``model`` uses no window, and ``screens`` no device.

``python -m demo_app`` runs the app. It imports no other package of this repository than ``edge_sdk``, and only the
tests import it.
"""
