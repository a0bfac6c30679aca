"""Its application cannot be called."""

application = 3
