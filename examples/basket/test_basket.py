import unittest

import basket

ITEMS = [("pen", 2.0, 3), ("book", 12.0, 1), ("pen", 2.0, 1)]


class BasketTest(unittest.TestCase):
    def test_net_sums_prices(self):
        self.assertEqual(basket.net(ITEMS), 20.0)

    def test_gross_adds_tax(self):
        self.assertEqual(basket.gross(ITEMS), 23.8)

    def test_names_are_said_once(self):
        self.assertEqual(basket.names(ITEMS), ["pen", "book"])


if __name__ == "__main__":
    unittest.main()
