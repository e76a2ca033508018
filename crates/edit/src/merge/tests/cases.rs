//! Tests typical manual changes in compiled languages by query, comparing the file after each.

use super::by_query::{changes, named, refused, removed};
use super::check;
use crate::{Edit, Hints};

#[test]
fn java_members_of_many_forms() {
    let java = "\
package shop;

/** A till. */
public class Till<T extends Coin> {
    public static final int SLOTS = 4;
    private final List<T> coins = new ArrayList<>();

    public Till() {
        this(null);
    }

    @Inject
    public Till(Clock clock) {
        this.clock = clock;
    }

    /** Takes a coin. */
    @Override
    public synchronized <R> R take(T coin, Function<T, R> then) {
        return then.apply(coin);
    }

    static class Slot {
        int width;

        int area() { return width * width; }
    }

    interface Listener {
        void taken(int value);
    }

    enum State { OPEN, SHUT }
}
";
    let path = "Till.java";
    named(path, java, ("Till.SLOTS", "public static final int SLOTS = 6;"), ("SLOTS = 4", "SLOTS = 6"));
    named(
        path,
        java,
        (
            "Till.take",
            "@Override\npublic synchronized <R> R take(T coin, Function<T, R> then) {\n    coins.add(coin);\n    return then.apply(coin);\n}",
        ),
        ("        return then", "        coins.add(coin);\n        return then"),
    );
    named(path, java, ("Slot.area", "int area() { return width * 2; }"), ("width * width", "width * 2"));
    named(path, java, ("Till.Slot.height", "int height;"), ("int width;\n", "int width;\n        int height;\n"));
    named(
        path,
        java,
        ("Till.Listener.given", "void given(int value);"),
        ("void taken(int value);\n", "void taken(int value);\n        void given(int value);\n"),
    );
    changes(
        path,
        java,
        "class Till {\n    public Till(Clock clock) {\n        this.clock = check(clock);\n    }\n}\n",
        ("= clock", "= check(clock)"),
    );
    changes(
        path,
        java,
        "class Till {\n    static class Slot {\n        int area() { return 0; }\n    }\n}\n",
        ("width * width", "0"),
    );
    changes(path, java, "enum State { OPEN, SHUT, STUCK }\n", ("SHUT }", "SHUT, STUCK }"));
    removed(
        path,
        java,
        "public Till(Clock clock)",
        "    @Inject\n    public Till(Clock clock) {\n        this.clock = clock;\n    }\n\n",
    );
}

#[test]
fn kotlin_properties_objects_and_extensions() {
    let kotlin = "\
package shop

data class Coin(val value: Int)

class Till(val slots: Int) {
    val isFull: Boolean
        get() = coins.size >= slots

    var owner: String = \"\"
        set(value) {
            field = value.trim()
        }

    companion object {
        const val SLOTS = 4

        fun make() = Till(SLOTS)
    }
}

fun Till.count(): Int = 1

fun List<Coin>.sum(): Int = 2
";
    let path = "Till.kt";
    named(
        path,
        kotlin,
        ("Till.isFull", "val isFull: Boolean\n    get() = coins.size > slots"),
        (">= slots", "> slots"),
    );
    let owner =
        "class Till {\n    var owner: String = \"\"\n        set(value) {\n            field = value\n        }\n}\n";
    named(path, kotlin, ("Till.owner", owner), ("value.trim()", "value"));
    changes(path, kotlin, "fun Till.count(): Int = 3\n", ("= 1", "= 3"));
    changes(path, kotlin, "fun List<Coin>.sum(): Int = 4\n", ("= 2", "= 4"));
    changes(
        path,
        kotlin,
        "data class Coin(val value: Int, val year: Int)\n",
        ("value: Int)", "value: Int, val year: Int)"),
    );
    changes(
        path,
        kotlin,
        "class Till {\n    companion object {\n        fun make() = Till(5)\n    }\n}\n",
        ("Till(SLOTS)", "Till(5)"),
    );
    named(path, kotlin, ("count", "fun Till.count(): Int = 5"), ("= 1", "= 5"));
    let other = Edit::Definition { name: None, code: "fun List<Till>.sum(): Int = 4\n", hints: Hints::default() };
    refused(path, kotlin, &other, &["`sum` has other parameters at line 23", "fun List<Coin>.sum(): Int"]);
}

#[test]
fn swift_protocols_extensions_and_computed_properties() {
    let swift = "\
protocol Coin {
    var value: Int { get }
    func shine() -> Bool
}

public final class Till: Holder {
    private let coins: [Coin]

    var total: Int {
        coins.count
    }

    public init(coins: [Coin]) {
        self.coins = coins
    }

    /// Adds one.
    @MainActor
    mutating func add(_ coin: Coin, at slot: Int = 0) throws {
        slots[slot] = coin
    }

    subscript(index: Int) -> Coin {
        coins[index]
    }
}

extension Till {
    static func empty() -> Till { Till(coins: []) }
}
";
    let path = "Till.swift";
    named(path, swift, ("Till.total", "var total: Int {\n    coins.count + 1\n}"), ("coins.count", "coins.count + 1"));
    named(
        path,
        swift,
        ("Till.add", "mutating func add(_ coin: Coin, at slot: Int = 1) throws {\n    slots[slot] = coin\n}"),
        ("Int = 0", "Int = 1"),
    );
    named(
        path,
        swift,
        ("Till.init", "public init(coins: [Coin]) {\n    self.coins = coins.sorted()\n}"),
        ("self.coins = coins", "self.coins = coins.sorted()"),
    );
    named(path, swift, ("Coin.weigh", "func weigh() -> Int"), ("-> Bool\n", "-> Bool\n    func weigh() -> Int\n"));
    changes(
        path,
        swift,
        "extension Till {\n    static func empty() -> Till { Till(coins: [Cent()]) }\n}\n",
        ("coins: [])", "coins: [Cent()])"),
    );
    removed(path, swift, "Till.total", "    var total: Int {\n        coins.count\n    }\n\n");
}

#[test]
fn csharp_properties_attributes_and_generics() {
    let csharp = "\
using System;

namespace Shop
{
    public partial class Till<T> where T : Coin
    {
        private const int Slots = 4, Rows = 2;

        [JsonIgnore]
        public int Total { get; private set; } = 0;

        public event EventHandler Taken;

        public Till() : this(Slots) { }

        public Till(int slots)
        {
            Total = slots;
        }

        /// <summary>Takes one.</summary>
        [Obsolete(\"soon\")]
        public async Task<T> TakeAsync<R>(R by, CancellationToken token = default)
        {
            return await Next(by);
        }

        public static Till<T> operator +(Till<T> a, Till<T> b) => a;
    }
}
";
    let path = "Till.cs";
    named(
        path,
        csharp,
        ("Till.Total", "[JsonIgnore]\npublic int Total { get; private set; } = 1;"),
        ("} = 0", "} = 1"),
    );
    named(
        path,
        csharp,
        ("Till.Total", "public int Total { get; set; }"),
        ("{ get; private set; } = 0;", "{ get; set; }"),
    );
    named(
        path,
        csharp,
        (
            "TakeAsync",
            "public async Task<T> TakeAsync<R>(R by, CancellationToken token = default)\n{\n    return await Next(by, token);\n}",
        ),
        ("Next(by)", "Next(by, token)"),
    );
    named(
        path,
        csharp,
        ("public Till(int slots)", "public Till(int slots)\n{\n    Total = slots + 1;\n}"),
        ("= slots", "= slots + 1"),
    );
    changes(path, csharp, "class Till\n{\n    private const int Slots = 5, Rows = 2;\n}\n", ("Slots = 4", "Slots = 5"));
    named(
        path,
        csharp,
        ("Till.Empty", "public bool Empty => Total == 0;"),
        ("Taken;\n", "Taken;\n        public bool Empty => Total == 0;\n"),
    );
}

#[test]
fn cpp_templates_operators_and_nested_namespaces() {
    let cpp = "\
#include <vector>

class Coin;

namespace shop::till {

template <typename T, int N = 4>
class Till {
 public:
  explicit Till(T coin) noexcept : coin_(coin) {}
  ~Till();

  T& at(int slot) { return coins_[slot]; }
  const T& at(int slot) const { return coins_[slot]; }
  bool operator==(const Till& other) const { return true; }

 protected:
  T coin_, spare_;
};

template <>
int size<int>() { return 1; }

template <typename T>
int size() { return 2; }

static inline int twice(int by) { return 2 * by; }

}  // namespace shop::till
";
    let path = "till.hpp";
    let class = |member: &str| format!("class Till {{\n public:\n  {member}\n}};\n");
    changes(
        path,
        cpp,
        &class("const T& at(int slot) const { return spare_; }"),
        ("const { return coins_[slot]; }", "const { return spare_; }"),
    );
    changes(path, cpp, &class("bool operator==(const Till& other) const { return false; }"), ("true", "false"));
    changes(
        path,
        cpp,
        &class("bool empty() const { return false; }"),
        ("{ return true; }\n", "{ return true; }\n  bool empty() const { return false; }\n"),
    );
    changes(
        path,
        cpp,
        "class Till {\n protected:\n  T coin_, spare_, last_;\n};\n",
        ("coin_, spare_", "coin_, spare_, last_"),
    );
    changes(path, cpp, "template <typename T>\nint size() { return 3; }\n", ("return 2;", "return 3;"));
    changes(path, cpp, "template <>\nint size<int>() { return 4; }\n", ("return 1;", "return 4;"));
    named(path, cpp, ("twice", "static inline int twice(int by) { return by + by; }"), ("2 * by", "by + by"));
}

#[test]
fn c_types_macros_and_branches() {
    let c = "\
#ifndef TILL_H
#define TILL_H

#include <stddef.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct coin {
    int value;
    const char *name, *mint;
} coin_t;

enum state {
    OPEN,
    SHUT,
};

extern int slots;

#if defined(SLOW)
int take(coin_t *coin);
#endif

/* Counts. */
size_t
count(const coin_t *coins, size_t n);

static const int PRICES[] = { 1, 2, 3 };

#endif
";
    let path = "till.h";
    changes(
        path,
        c,
        "#define MAX(a, b) ((a) < (b) ? (b) : (a))\n",
        ("((a) > (b) ? (a) : (b))", "((a) < (b) ? (b) : (a))"),
    );
    let head = "count(const coin_t *coins, size_t n)";
    named(
        path,
        c,
        (head, "size_t count(const coin_t *coins);"),
        ("size_t\ncount(const coin_t *coins, size_t n)", "size_t count(const coin_t *coins)"),
    );
    changes(path, c, "static const int PRICES[] = { 1, 2, 3, 4 };\n", ("2, 3 }", "2, 3, 4 }"));
    changes(
        path,
        c,
        "enum state {\n    OPEN,\n    SHUT,\n    STUCK,\n};\n",
        ("    SHUT,\n", "    SHUT,\n    STUCK,\n"),
    );
    changes(path, c, "int give(void);\n", ("size_t n);\n", "size_t n);\nint give(void);\n"));
    let guard = "#if !defined(A_H)\n#define A_H\n\nint a(void);\n\n#endif\n";
    changes("a.h", guard, "int b(void);\n", ("int a(void);\n", "int a(void);\nint b(void);\n"));
    check(
        "a.h",
        "#ifndef A_H\n#define A_H\n#endif\n",
        "int b(void);\n",
        "#ifndef A_H\n#define A_H\n\nint b(void);\n#endif\n",
    );
    removed(path, c, "count", "/* Counts. */\nsize_t\ncount(const coin_t *coins, size_t n);\n\n");
}
