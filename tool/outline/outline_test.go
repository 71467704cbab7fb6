package outline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func found(t *testing.T, name, text string) (names []string) {
	t.Helper()
	for _, s := range NewScanner().Scan(name, []byte(text)).Symbols {
		names = append(names, fmt.Sprintf("%d %s", s.Line, s.Name))
	}
	return names
}

func TestDefinitionsOfManyLanguages(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"a.go": {"package a\n\n// type Comment is none\ntype Cart[T any] struct {\n\ttype2 int\n}\n\nfunc (c *Cart[T]) Sum(of int) int {\n" +
			"\tvar local = 1\n}\n\nfunc New() *Cart\nvar ErrEmpty = errors.New(\"func None\")\nconst Max = 3\n",
			"4 Cart, 8 Sum, 12 New, 13 ErrEmpty, 14 Max"},
		"a.py": {"class Cart(Base):\n    def total(self, of):\n        return total(of)\n    async def load(self):\n# def none():\n" +
			"\"\"\"class words in a text\"\"\"\nclass Item:\n", "1 Cart, 2 total, 4 load, 7 Item"},
		"a.tsx": {"export default class Cart {\n  async load(id: string): Promise<void> {\n    if (id) {\n    for (const each of ids) {\n" +
			"    describe('each', () => {\n  }\n}\nexport const makeCart = (x) => {\nconst fs = require('fs')\nexport async function* walk() {\n" +
			"export interface Item {\ntype Money = number\n  const inner = 1\nexport enum Kind {\n",
			"1 Cart, 2 load, 8 makeCart, 10 walk, 11 Item, 12 Money, 14 Kind"},
		"a.rs": {"pub(crate) struct Cart<T> {\nimpl Cart {\n    pub const fn sum(&self) -> u32 {\n    let none = 1;\n}\n" +
			"pub static LIMIT: u32 = 1;\nmacro_rules! vector {\npub enum Kind {}\ntrait Priced {}\n",
			"1 Cart, 3 sum, 6 LIMIT, 7 vector, 8 Kind, 9 Priced"},
		"a.cc": {"#define LIMIT 3\n#define GUARD_H\nstruct cart {\nstruct forward;\nstatic int sum_of(struct cart *c, int n)\n{\n" +
			"\treturn other(c);\n\tif (sum_of(c, 1)) {\n}\nint prototype(void);\nvoid Cart::clear(int a,\n    int b)\n{\nenum class Kind : int {\n" +
			"class Shop {\n  int size() const {\n", "1 LIMIT, 3 cart, 5 sum_of, 11 clear, 14 Kind, 15 Shop, 16 size"},
		"A.java": {"public final class Cart extends Base {\n    public static Map<String, Integer> sums(int of) {\n        return sums(of);\n" +
			"        String text = sums(1);\n        else if (other(x)) {\n    private Cart(int n) {\n        new Thread(x) {\ninterface Priced {\nrecord Item(int n) {}\n",
			"1 Cart, 2 sums, 6 Cart, 8 Priced, 9 Item"},
		"A.cs":    {"internal sealed class Cart\n{\n    public int Sum(int of) => of + 1;\n    Call(x);\n}\n", "1 Cart, 3 Sum"},
		"a.kt":    {"data class Cart(val n: Int)\nfun String.total(): Int = 1\nsuspend fun <T> load(): T\nobject Store\nval limit = 3\n", "1 Cart, 2 total, 3 load, 4 Store, 5 limit"},
		"a.swift": {"public final class Cart {\n    private func sum() -> Int {\n}\nprotocol Priced {\nextension Cart {\n", "1 Cart, 2 sum, 4 Priced, 5 Cart"},
		"a.php":   {"<?php\nabstract class Cart {\n    public static function sum(int $of) {\n    return sum($of);\n", "2 Cart, 3 sum"},
		"a.rb":    {"module Shop\n  class A::Cart\n    def self.total(of)\n    def total?\n", "1 Shop, 2 Cart, 3 total, 4 total"},
		"a.sh":    {"make_cart() {\n  make_cart \"$1\"\nfunction clear_cart {\n", "1 make_cart, 3 clear_cart"},
		"a.lua":   {"local function total(of)\nfunction Cart:clear()\n", "1 total, 2 clear"},
		"a.ex":    {"defmodule Shop.Cart do\n  def total(of) do\n  defp inner do\n", "1 Cart, 2 total, 3 inner"},
		"a.txt":   {"func none() {\n", ""},
		"min.js":  {"function visible() {\n" + strings.Repeat("x", 3000) + "\n", ""},
	} {
		if got := strings.Join(found(t, name, row.text), ", "); got != row.want {
			t.Errorf("%s has %s, want %s", name, got, row.want)
		}
	}
}

func TestALineIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	s := NewScanner().Scan("a.go", []byte("func Long(x = \""+strings.Repeat("é", 100)+"\") {")).Symbols[0].Text
	if !strings.HasPrefix(s, "func Long(x = \"éé") || !strings.HasSuffix(s, "é…") || len(s) > maxText+len("…") {
		t.Errorf("%q", s)
	}
}

// ranked are the names of definitions in their order, except those that nothing speaks for.
func ranked(texts map[string]string, near, query string) (names []string) {
	var sources []Source
	for _, name := range []string{"cart/cart.go", "cart/sum.go", "shop/shop.go", "shop/shop_test.go", "main.go", "web/cart.ts", "web/page.ts"} {
		if text, ok := texts[name]; ok {
			sources = append(sources, Source{Name: name, File: NewScanner().Scan(name, []byte(text)), Near: name == near})
		}
	}
	for _, r := range Rank(sources, strings.Fields(query)) {
		if r.score > 0 {
			names = append(names, sources[r.Source].Symbols[r.Symbol].Name)
		}
	}
	return names
}

func TestWhatMostOtherFilesMentionComesFirst(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"cart/cart.go":      "type Cart struct\nfunc Unused()\nfunc helper()\nfunc Rarely()\n",
		"cart/sum.go":       "func SumOf(c Cart) { helper() }\n",
		"shop/shop.go":      "import \"x/cart\"\ntype Seller struct { c cart.Cart; n int /* helper, SumOf */ }\ncart.SumOf()\n",
		"shop/shop_test.go": "func Tested() { cart.SumOf(cart.Cart{}) }\n",
		"main.go":           "var _ = cart.Cart{}; shop.Seller{}; cart.Rarely(); shop.Tested()\nfunc start() {}\n",
		"web/cart.ts":       "export class SumOf {}\n",
	}
	for name, row := range map[string]struct {
		near, query, want string
	}{
		"all":      {"", "", "Cart SumOf Rarely Seller helper Tested"},
		"a file":   {"main.go", "", "start Cart Rarely Seller Tested SumOf helper"},
		"a name":   {"", "unus", "Unused Cart SumOf Rarely Seller helper Tested"},
		"a path":   {"", "web/", "SumOf Cart SumOf Rarely Seller helper Tested"},
		"no match": {"", "nowhere", "Cart SumOf Rarely Seller helper Tested"},
	} {
		if diff := cmp.Diff(strings.Fields(row.want), ranked(texts, row.near, row.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Names of one language are not those of another, and a file that does not import another one hardly
// uses it.
func TestAMentionCountsWhereItMeansTheDefinition(t *testing.T) {
	t.Parallel()
	got := ranked(map[string]string{
		"cart/cart.go": "func LoadCart()\nfunc OtherName()\n",
		"web/cart.ts":  "export function showCart() {\nexport function loadPage() {\n",
		"web/page.ts":  "import { showCart } from './cart'; LoadCart()\n",
		"shop/shop.go": "showCart(); showCart2(); OtherName()\n",
		"main.go":      "import \"x/cart\"\nLoadCart()",
	}, "", "")
	if diff := cmp.Diff([]string{"LoadCart", "showCart", "OtherName"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
