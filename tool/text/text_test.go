package text_test

import (
	"testing"

	"artoo/tool/text"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{text.FirstLine("\n  one \ntwo"), "one"},
		{text.FirstLine(" \n"), ""},
		{text.Clip("größer", 6), "größer"},
		{text.Clip("größer", 4), "grö…"},
		{text.Cut("größer", 3), "gr"},
		{text.Cut("größer", 4), "grö"},
		{text.Cut("ab", 9), "ab"},
		{text.Count(1, "file"), "1 file"},
		{text.Count(1204567, "file"), "1,204,567 files"},
		{text.Grouped(-1234), "-1,234"},
		{text.Bytes(1), "1 byte"},
		{text.Bytes(1023), "1,023 bytes"},
		{text.Bytes(4200), "4.1 KB"},
		{text.Bytes(5 << 20), "5.0 MB"},
		{text.Bytes(3 << 40), "3072.0 GB"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestAnAmountHidesNoPartOfItself(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]string{0: "$0.00", 0.001: "$0.0010", 0.00001: "less than $0.0001", 0.05: "$0.05", 0.0612: "$0.0612",
		0.5: "$0.50", 0.999999: "$1.00", 1: "$1.00", 12.3456: "$12.35"} {
		if got := text.Dollars(usd); got != want {
			t.Errorf("%v: %s, want %s", usd, got, want)
		}
	}
}
