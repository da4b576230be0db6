"""Whether a figure shows its data."""

import numpy as np

from nlgjudge.notebook.figures import _places


def check_drawn(figure):
    """Refuse a figure that does not show its data.

    Raises a `ValueError` for a point, line, interval or bar that is not inside its axes, and for a panel that has
    neither data nor a text that says why. Lines and bands across a panel (`axhline`, `axvspan`, `axline`) and texts are
    not data.
    """
    for number, axis in enumerate(figure.axes, 1):
        # Asking for limits sets those that are to fit the data.
        axis.get_xlim()
        axis.get_ylim()
        panel = " ".join(filter(None, [f"panel {number}", axis.get_title() or axis.get_xlabel()]))
        places = axis.transAxes.inverted().transform(_places(axis))
        if np.any((places < -1e-6) | (places > 1 + 1e-6)):
            raise ValueError(
                f"{panel}: expected all data inside its axes; got some outside. Widen the limits or leave them out."
            )
        if not (len(places) or axis.images or axis.texts):
            raise ValueError(
                f"{panel}: expected data or a text that says why there are none; got neither. Leave the panel out."
            )
