//! Tests renames in Python: imports, annotations, methods, module variables.

use super::check;

#[test]
fn python_changes_through_relative_imports_all_lists_and_annotations() {
    check(
        &[
            "shop/__init__.py: from .cart import «Cart»\nfrom .money import up as Cart2\n__all__ = [\"«Cart»\", 'Cart2']\n",
            "shop/cart.py: from .money import up\n\n\nclass «Cart»:\n    \"\"\"A Cart.\"\"\"\n\n    def copy(self) -> \"«Cart»\":\n        return «Cart»()\n",
            "shop/money.py: def up(n):\n    return n\n",
            "app.py: import shop.cart\nfrom shop import «Cart» as C, «Cart»\nfrom shop import *\n\n\ndef run(c: «Cart»):\n    Cart = shop.cart.«Cart»\n    return Cart(), C()\n",
            "star.py: from shop import *\n\nprint(«Cart»())\n",
            "away.py: from other import Cart\n\nCart()\n",
        ],
        ("Cart", "Basket"),
    );
}

#[test]
fn python_methods_change_in_the_class_its_subclasses_and_their_callers() {
    check(
        &[
            "base.py: class Base:\n    def load(self):\n        return self.«load_all»()\n\n    def «load_all»(self):\n        return [self.load]\n",
            "sub.py: from base import Base\n\n\nclass Sub(Base):\n    def «load_all»(self):\n        return super().«load_all»()\n\n\ndef f(b):\n    b.«load_all»()\n    load_all = 1\n    return load_all\n",
        ],
        ("Base.load_all", "load_many"),
    );
}

#[test]
fn a_module_variable_changes_with_global_statements_and_not_with_local_names() {
    check(
        &[
            "a.py: «limit» = 1\n«limit» += 1\n\n\ndef up():\n    global «limit»\n    «limit» = 2\n\n\ndef own():\n    limit = 3\n    return limit\n\n\ndef use(x=«limit»):\n    return «limit»\n",
        ],
        ("limit", "bound"),
    );
}
