"""The phone app: what is asked, what would leave, what it costs and what was told, for the person who holds the device.

The app shows what the SDK decided and decides nothing itself. ``model`` has no window, ``screens`` no device.

``python -m demo_app`` runs it. It imports ``edge_sdk`` only, and nothing imports it.
"""
