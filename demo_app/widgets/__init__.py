"""The widgets of the screens: plain Kivy in the app's colours and sizes.

A widget takes plain data and reports an action of the person by an event; no widget uses the SDK, a campaign or a
screen. Every control is at least 48 dp wide and high, can be reached with Tab and pressed with Enter or the space bar,
and has a ``name`` by which tests find it. After the import of a module, kv can use its classes by name.

    palette    palette               the current colours; palette.use(theme.DARK); in kv: palette.accent, palette.space
    words      Words                 a text that wraps: text, role (display headline title body small), colour
               Mono                  bytes and codes, in a fixed width
    boxes      Page                  scrolls; its children are in one column, at most READABLE wide
               Card                  a rounded box, children below each other; tone (card tint alert_tint good_tint)
               Row, Gap, Rule        side by side; a distance; a thin line
               Loading               a bar that moves while a task runs
    actions    Action                a button: text, kind (filled outlined plain alert), on_release, name, disabled
               Symbol                a button of one drawn sign: sign, description (its action in words), on_release
               Entry                 a card that is touched, with a title, a line below and a mark: on_release
    bars       TopBar                title, back (whether to show the arrow), on_back
               Destinations          places: [(name, text, sign)], chosen, upright (a rail at the side), on_choice(name)
    field      Field                 label, text, hint, error (a line below), on_enter; number (digits only)
               TypedAnswer           the base of NumberSlider and DayField: round_answer, text, caption, note,
                                     on_answer(text)
    dialogs    ask(...)              a dialog with two buttons, in front of everything
               show_notice(...)      a notice at the bottom for some seconds; the next one waits for it
    choice     ChoiceList            one of many: values, chosen (index or -1), on_choice(index); searched above 12
               ItemSet               any of many: values, chosen (sorted indexes), on_set(indexes)
    slider     NumberSlider          low, high, places, step, unit; text (the number, "" for none)
    dayfield   DayField              low, high; text (the day, "" for none)
    gridmap    GridMap               south north west east step (microdegrees), chosen (row, column) or None, on_cell
    surface    Surface               the drawing and the touches of a GridMap
    gauge      Gauge                 spent, reserved, cap in nats: one bar, and the same in words
    chances    Chances               fits_true, fits_other (0 .. 1): of 100 people each
               BeforeAfter           before, after (0 .. 1), as bars
"""
