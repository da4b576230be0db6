"""What a command may spend: one budget for all of its judges."""


class Budget:
    """Limits on cost and calls, and what was spent of them so far.

    Parameters
    ----------
    max_cost : float, optional
        In the price's currency.
    max_calls : int, optional

    Attributes
    ----------
    cost : float
    calls : int

    Examples
    --------
    >>> budget = Budget(max_calls=10)
    >>> budget.calls += 10
    >>> budget.reached()
    'the limit of 10 calls was reached'
    """

    def __init__(self, max_cost=None, max_calls=None):
        self.max_cost = max_cost
        self.max_calls = max_calls
        self.cost = 0.0
        self.calls = 0

    def reached(self, in_flight=0, each=0.0):
        """Say which limit is reached, empty if none is.

        Parameters
        ----------
        in_flight : int
            Calls whose cost is not known yet.
        each : float
            What one of them is expected to cost.

        Returns
        -------
        str
        """
        if self.max_calls is not None and self.calls >= self.max_calls:
            return f"the limit of {self.max_calls} calls was reached"
        if self.max_cost is not None and self.cost + in_flight * each >= self.max_cost:
            return (
                f"the limit on cost was reached: {self.cost:.4g} of {self.max_cost:.4g}, "
                f"{in_flight} calls in flight"
            )
        return ""

    def refuse(self, calls, cost):
        """Refuse a plan that would go over a limit, of a judge that cannot stop half way.

        Parameters
        ----------
        calls : int
        cost : float or None
            None without a price.

        Raises
        ------
        ValueError
        """
        for name, limit, planned in (
            ("cost", self.max_cost, cost),
            ("calls", self.max_calls, calls),
        ):
            if limit is None:
                continue
            if planned is None:
                raise ValueError(f"a limit on {name} needs a price: give --price IN OUT (price=)")
            if planned > limit:
                raise ValueError(
                    f"the plan takes {name} of {planned:g}, the limit is {limit:g}, and a batch "
                    "cannot be stopped half way: nothing was submitted"
                )
