"""Sums and counts of a shopping basket. An item is a tuple of name, price and count."""

VAT = 0.19


def net(items):
    """The price of all items without tax."""
    return sum(price * count for _, price, count in items)


def gross(items):
    """The price of all items with tax, in full cents."""
    return round(net(items) * (1 + VAT), 2)


def names(items):
    """The names of the items, each once, in order."""
    return list(dict.fromkeys(name for name, _, _ in items))
