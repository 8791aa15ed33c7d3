"""The error of a machine that lacks something."""


class Lacking(Exception):
    """This machine lacks something."""
