//! Tests typical manual changes in mostly interpreted languages by query, comparing the file after
//! each.

use super::by_query::{changes, named, removed};

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
