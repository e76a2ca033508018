//! Changes as they are made by hand, in the languages by query: each compares the file after it.

use super::by_query::{changes, named, refused, removed};
use super::check;
use crate::edit::{Edit, Hints};

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

#[test]
fn scala_traits_objects_and_parameter_lists() {
    let scala = "\
package shop

sealed trait Coin {
  def value: Int
}

final case class Cent(year: Int) extends Coin {
  override def value: Int = 1
}

object Till {
  implicit val ordering: Ordering[Coin] = null

  def take(coin: Coin)(implicit clock: Clock): Int = {
    coin.value
  }

  @deprecated
  private[shop] def drop[T](coins: Seq[T]): Seq[T] = coins.tail
}
";
    let path = "Till.scala";
    named(
        path,
        scala,
        ("Till.take", "def take(coin: Coin)(implicit clock: Clock): Int = {\n  coin.value + 1\n}"),
        ("    coin.value\n", "    coin.value + 1\n"),
    );
    named(path, scala, ("Till.drop", "private[shop] def drop[T](coins: Seq[T]): Seq[T] = Nil"), ("coins.tail", "Nil"));
    changes(
        path,
        scala,
        "case class Cent(year: Int) extends Coin {\n  override def value: Int = 2\n}\n",
        ("= 1", "= 2"),
    );
    named(
        path,
        scala,
        ("Coin.name", "def name: String"),
        ("value: Int\n}\n\nfinal", "value: Int\n  def name: String\n}\n\nfinal"),
    );
    removed(
        path,
        scala,
        "Till.take",
        "  def take(coin: Coin)(implicit clock: Clock): Int = {\n    coin.value\n  }\n\n",
    );
}

#[test]
fn php_traits_interfaces_and_constants() {
    let php = "\
<?php

declare(strict_types=1);

namespace Shop;

use Shop\\Coin;

trait Counts
{
    protected array $counts = [];

    public function count(): int
    {
        return count($this->counts);
    }
}

final class Till implements Holder
{
    use Counts;

    public const SLOTS = 4;

    public function __construct(private readonly Clock $clock, protected int $slots = self::SLOTS)
    {
    }

    #[Pure]
    public static function empty(): static
    {
        return new static(new Clock());
    }
}
";
    let path = "Till.php";
    named(
        path,
        php,
        ("Counts.count", "public function count(): int\n{\n    return 0;\n}"),
        ("count($this->counts)", "0"),
    );
    named(path, php, ("Till.SLOTS", "public const SLOTS = 5;"), ("SLOTS = 4", "SLOTS = 5"));
    named(
        path,
        php,
        ("Till.empty", "public static function empty(): static\n{\n    return new self(new Clock());\n}"),
        ("new static(", "new self("),
    );
    changes(
        path,
        php,
        "class Till\n{\n    use Counts, Sums;\n}\n",
        ("    use Counts;\n", "    use Counts;\n    use Counts, Sums;\n"),
    );
    removed(path, php, "Till.SLOTS", "    public const SLOTS = 4;\n\n");
}

#[test]
fn ruby_modules_constants_and_methods_of_the_class() {
    let ruby = "\
module Shop
  SLOTS = 4

  class Till
    attr_accessor :coins
    delegate :size, to: :coins

    # Makes one.
    def self.make(*coins, **options, &block)
      new(coins)
    end

    def take(coin) = coins << coin

    def <=>(other)
      size <=> other.size
    end

    def to_s
      <<~TEXT
        till
      TEXT
    end

    protected

    def weight = 1

    private

    def count
      1
    end
  end
end
";
    let path = "till.rb";
    named(path, ruby, ("SLOTS", "SLOTS = 5"), ("= 4", "= 5"));
    named(
        path,
        ruby,
        ("Till.make", "def self.make(*coins, **options, &block)\n  new(coins.first)\nend"),
        ("new(coins)", "new(coins.first)"),
    );
    named(path, ruby, ("Till.<=>", "def <=>(other)\n  0\nend"), ("size <=> other.size", "0"));
    named(
        path,
        ruby,
        ("Till.take", "def take(coin)\n  coins.push(coin)\nend"),
        ("take(coin) = coins << coin", "take(coin)\n      coins.push(coin)\n    end"),
    );
    named(
        path,
        ruby,
        ("Till.to_s", "def to_s\n  <<~TEXT\n    a till\n  TEXT\nend"),
        ("        till\n", "        a till\n"),
    );
    changes(
        path,
        ruby,
        "class Till\n  protected\n\n  def height = 2\nend\n",
        ("weight = 1\n", "weight = 1\n\n    def height = 2\n"),
    );
    changes(
        path,
        ruby,
        "module Shop\n  class Till\n    def rows\n      2\n    end\n  end\nend\n",
        ("      TEXT\n    end\n", "      TEXT\n    end\n\n    def rows\n      2\n    end\n"),
    );
    changes(
        path,
        ruby,
        "class Till\n  def self.empty\n    new([])\n  end\nend\n",
        ("      TEXT\n    end\n", "      TEXT\n    end\n\n    def self.empty\n      new([])\n    end\n"),
    );
    removed(path, ruby, "Till.count", "    def count\n      1\n    end\n");
}

#[test]
fn lua_tables_and_methods() {
    let lua = "\
local Till = {}
Till.__index = Till

local SLOTS <const> = 4

--- Makes one.
function Till.new(slots)
  return setmetatable({ slots = slots }, Till)
end

function Till:take(coin)
  self.coin = coin
end

Till.give = function(self)
  return self.coin
end

return Till
";
    let path = "till.lua";
    named(
        path,
        lua,
        ("Till.new", "function Till.new(slots)\n  return setmetatable({}, Till)\nend"),
        ("{ slots = slots }", "{}"),
    );
    named(path, lua, ("Till:take", "function Till:take(coin)\n  self.coin = nil\nend"), ("= coin\n", "= nil\n"));
    named(
        path,
        lua,
        ("Till.give", "Till.give = function(self)\n  return nil\nend"),
        ("return self.coin", "return nil"),
    );
    named(
        path,
        lua,
        ("Till.count", "function Till:count()\n  return 1\nend"),
        ("return self.coin\nend\n", "return self.coin\nend\n\nfunction Till:count()\n  return 1\nend\n"),
    );
    removed(
        path,
        lua,
        "Till.new",
        "--- Makes one.\nfunction Till.new(slots)\n  return setmetatable({ slots = slots }, Till)\nend\n\n",
    );
}

#[test]
fn shell_functions_in_both_spellings() {
    let shell = "\
#!/usr/bin/env bash

readonly SLOTS=4

function take {
  local coin=\"$1\"
  cat <<-'EOF'
	coin
	EOF
}

give() (
  exit 1
)

if [[ -n \"${DEBUG:-}\" ]]; then
  log() { echo \"$@\"; }
fi

take \"$@\"
";
    let path = "till.sh";
    named(
        path,
        shell,
        ("take", "take() {\n  local coin=\"$1\"\n  cat <<-'EOF'\n\tcoins\n\tEOF\n}"),
        (
            "function take {\n  local coin=\"$1\"\n  cat <<-'EOF'\n\tcoin\n",
            "take() {\n  local coin=\"$1\"\n  cat <<-'EOF'\n\tcoins\n",
        ),
    );
    named(path, shell, ("give", "give() (\n  exit 2\n)"), ("exit 1", "exit 2"));
    named(path, shell, ("log", "log() { printf '%s' \"$@\"; }"), ("echo \"$@\"", "printf '%s' \"$@\""));
    named(path, shell, ("SLOTS", "readonly SLOTS=5"), ("=4", "=5"));
    removed(path, shell, "give", "give() (\n  exit 1\n)\n\n");
}
