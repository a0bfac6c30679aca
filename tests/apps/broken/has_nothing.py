"""Has no application."""

nothing_here = 1
