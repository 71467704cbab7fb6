package screen

import (
	"strings"
	"testing"
)

// A question names the end of a directory, and takes a second row only for its
// choices where it can.
func TestAQuestionNamesTheEndOfADirectory(t *testing.T) {
	t.Parallel()
	const deep = "/home/jo/work/clients/acme/shop/services/orders"
	for _, test := range []struct {
		width              int
		dir, command, want string
	}{
		{40, "/home/jo/src/web", "make", "approve: run \"make\" in ~/src/web?\n[y,n,a,A,e,p,q,?] (n) "},
		{40, deep, "make", "approve: run \"make\" in ~/…/orders?\n[y,n,a,A,e,p,q,?] (n) "},
		{40, "/srv/data/orders", "make", "approve: run \"make\" in /…/data/orders?\n[y,n,a,A,e,p,q,?] (n) "},
		{40, "/srv/orders-of-the-last-ten-years", "make",
			"approve: run \"make\" in /srv/o … -years?\n[y,n,a,A,e,p,q,?] (n) "},
		{80, deep, "make", "approve: run \"make\" in ~/…/shop/services/orders? [y,n,a,A,e,p,q,?] (n) "},
		{80, deep, "go test ./... -race", "approve: run \"go test ./... -race\" in ~/…/orders? [y,n,a,A,e,p,q,?] (n) "},
		{80, "/home/jo/src/web", "make", "approve: run \"make\" in ~/src/web? [y,n,a,A,e,p,q,?] (n) "},
		{80, "/home/jo/src/shop", "make", "approve: run \"make\"? [y,n,a,A,e,p,q,?] (n) "}, // where artoo works
		{40, "/home/jo/src/shop", "make prices-of-the-year-before", "approve: run \"make\nprices-of-the-year-before\"?\n[y,n,a,A,e,p,q,?] (n) "},
	} {
		r := newRig(func(o *Options) { o.Width, o.Profile, o.ErrColor = func() int { return test.width }, Plain, false })
		q := ask(runCall("1", test.command), 1, 1)
		q.Call.Access.Dir = test.dir
		line := r.Question(q)
		above := r.err.String()
		r.Prompt(line)
		if got := r.err.String()[len(above):]; got != test.want {
			t.Errorf("%d columns, %s:\n got %q\nwant %q", test.width, test.dir, got, test.want)
		}
		// A directory that the question does not name whole stands above it.
		whole := strings.Replace(test.dir, "/home/jo", "~", 1)
		rows := strings.Join(strings.Fields(above), " ")
		if test.dir == q.Dir {
			if strings.Contains(above, whole) {
				t.Errorf("%d columns: the directory that artoo works in is named above: %q", test.width, above)
			}
			continue
		}
		if named := strings.Contains(test.want, " in "+whole+"?"); named == strings.Contains(rows, " in "+whole) {
			t.Errorf("%d columns: the question names all of %s: %v; above it stands %q", test.width, whole, named, above)
		}
	}
}
