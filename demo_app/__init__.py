"""The phone app: it shows a person the questions, the reports, and the cost and the risk of the reports.

The SDK makes every decision; the app only shows the results. ``model`` uses no window, and ``screens`` no device.

``python -m demo_app`` runs the app. Of this repository, the app imports only ``edge_sdk``; only the tests import the
app.
"""
