"""What is wrong with a file, and what is worth knowing, collected so that one error names all of it."""


class Problems:
    """Problems and notes of a file, in order, each with its column and rows."""

    def __init__(self, source):
        self.source = source
        self.unit = "row"  # as a spreadsheet numbers it; `line` or `index` in other files
        self.problems = []
        self.notes = []

    def problem(self, message, column="file", rows=None):
        """Add what prevents an evaluation; if `rows` is a mask, only if it is true somewhere."""
        self.problems += self._lines(message, column, rows)

    def note(self, message, column="file", rows=None):
        """Add what is worth knowing."""
        self.notes += self._lines(message, column, rows)

    def _lines(self, message, column, rows):
        if rows is None:
            return [f"{column}: {message}"]
        places = rows.index[rows].unique()
        more = f" and {len(places) - 5} more" if len(places) > 5 else ""
        listed = ", ".join(map(str, places[:5]))
        return [f"{column}, {self.unit} {listed}{more}: {message}"] if len(places) else []

    def check(self):
        """Raise all problems found so far."""
        if self.problems:
            first = f"{self.source} cannot be used; {len(self.problems)} found:"
            raise ValueError("\n".join([first, *self.problems]))
