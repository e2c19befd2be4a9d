"""What the app asks of the system it runs on: links, light or dark, the room that bars take, screen lock, calendar.

Each module asks Android through pyjnius where the app runs on a phone, and does what a desktop has elsewhere. Written
for Android's documented methods and tested with objects in memory that have the same ones; no phone has run it here.
"""
