package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// site is a server on loopback that counts as one of the internet, under whatever
// name: only its own address does, all others keep their meaning.
type site struct {
	*httptest.Server
	client *Client

	mu    sync.Mutex
	names map[string][]string // the addresses of a name, one for each time it is asked for
	paths []string
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{names: map[string][]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.Host+r.URL.Path)
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	at := netip.MustParseAddr("127.0.0.1")
	s.client = &Client{Base: &http.Transport{}, UserAgent: "artoo/test", lookup: s.resolver(t),
		ownAddr: func(a netip.Addr) string {
			if a.Unmap() == at {
				return ""
			}
			return OwnAddr(a)
		}}
	return s
}

// at is an address of the site under a name.
func (s *site) at(t *testing.T, name, path string) *url.URL {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	u, err := Parse("http://" + name + ":" + port + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (s *site) visited() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.paths, " ")
}

// addresses are those of a name this time: 127.0.0.1 unless something else is said.
func (s *site) addresses(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.names[name]
	if len(list) == 0 {
		return "127.0.0.1"
	}
	if len(list) > 1 {
		s.names[name] = list[1:]
	}
	return list[0]
}

// resolver asks a name server of its own, over a pipe.
func (s *site) resolver(t *testing.T) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		t.Cleanup(func() { here.Close() })
		go s.serveNames(there)
		return here, nil // no packets: each message has its length before it
	}}
}

func (s *site) serveNames(conn net.Conn) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		packed := make([]byte, int(size[0])<<8|int(size[1]))
		if _, err := io.ReadFull(conn, packed); err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packed) != nil {
			return
		}
		m.Response, m.Additionals = true, nil
		q := m.Questions[0]
		if q.Type == dnsmessage.TypeA {
			for text := range strings.SplitSeq(s.addresses(strings.TrimSuffix(q.Name.String(), ".")), " ") {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: netip.MustParseAddr(text).As4()}})
			}
		}
		answer, err := m.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(answer) >> 8), byte(len(answer))}, answer...)); err != nil {
			return
		}
	}
}

// none is the Hosts of no rules.
func none(string) (bool, bool) { return false, false }

// all lets redirects go to every host of the internet.
func all(string) (bool, bool) { return true, false }

func TestNoAddressOfThisMachineOrNetworkIsDialled(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	for _, address := range strings.Fields("10.0.0.5 192.168.1.1 172.16.9.9 169.254.169.254 100.64.0.9 0.0.0.0 127.0.0.2 " +
		"224.0.0.1 255.255.255.255 192.0.0.192 198.18.0.1 168.63.129.16") {
		s.names["evil.example"] = []string{address}
		_, err := s.client.Fetch(t.Context(), s.at(t, "evil.example", "/"), all)
		var own *OwnError
		if !errors.As(err, &own) || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
	s.names["both.example"] = []string{"10.0.0.5 127.0.0.1"}
	if page, err := s.client.Fetch(t.Context(), s.at(t, "both.example", "/"), none); err != nil || page.Text != "here" {
		t.Errorf("a name with a public address beside a private one: %+v, %v", page, err)
	}
}

func TestANameThatMovesToAnotherAddressIsCheckedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusFound)
	})
	s.names["rebind.example"] = []string{"127.0.0.1", "10.0.0.1"}
	_, err := s.client.Fetch(t.Context(), s.at(t, "rebind.example", "/"), all)
	var own *OwnError
	if !errors.As(err, &own) || !strings.Contains(own.Why, "10.0.0.1") {
		t.Errorf("%v", err)
	}
	if got := s.visited(); strings.Contains(got, "again") {
		t.Errorf("asked for %s", got)
	}
}

func TestARedirectIsFollowedOnlyWhereThatIsAllowed(t *testing.T) {
	t.Parallel()
	var to string
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, to, http.StatusMovedPermanently)
			return
		}
		fmt.Fprint(w, "arrived")
	})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	covers := func(hosts string) Hosts {
		return func(host string) (bool, bool) {
			for h := range strings.FieldsSeq(hosts) {
				if h+":"+port == host {
					return true, strings.HasPrefix(h, "127.")
				}
			}
			return false, false
		}
	}
	for _, c := range []struct{ to, allowed, want string }{
		{"/there", "", "arrived"},
		{"http://a.example:PORT/there", "", "arrived"},
		{"//A.Example.:PORT/there", "", "arrived"},
		{"http://b.example:PORT/there", "", "elsewhere http://b.example:PORT/there"},
		{"http://b.example:PORT/there", "b.example", "arrived"},
		{"http://b.example:PORT/", "b.example", "redirects more than 10 times"},
		{"http://a.example:1/there", "", "elsewhere http://a.example:1/there"},
		{"http://a.example:PORT.evil.example/there", "", "redirects to an address that cannot"},
		{"http://127.0.0.1:PORT/there", "", "elsewhere http://127.0.0.1:PORT/there"},
		{"http://2130706433:PORT/there", "", "redirects to an address that cannot"},
		{"http://127.0.0.1:PORT/there", "127.0.0.1", "arrived"},
		{"http://localhost:PORT/there", "localhost", "localhost is this machine"},
		{"http://[::1]:PORT/there", "", "elsewhere http://[::1]:PORT/there"},
		{"file:///etc/passwd", "", "only http and https"},
		{"http://jo:pw@a.example:PORT/there", "", "user or password"},
		{"", "", ""},
	} {
		fill := strings.NewReplacer("PORT", port)
		to = fill.Replace(c.to)
		page, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/"), covers(c.allowed))
		got := page.Text
		if page.Elsewhere != nil {
			got = "elsewhere " + page.Elsewhere.String()
		}
		if err != nil {
			got = err.Error()
		}
		if want := fill.Replace(c.want); !strings.Contains(got, want) || want == "arrived" && got != want {
			t.Errorf("to %s with leave for %q: %q, want %q", to, c.allowed, got, want)
		}
	}
}

func TestWhatTheUserAllowedIsReached(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	s.client.ownAddr = nil
	if page, err := s.client.Fetch(t.Context(), s.at(t, "127.0.0.1", "/"), none); err != nil || page.Text != "here" {
		t.Errorf("the approved address itself: %+v, %v", page, err)
	}
	s.names["dev.localhost"] = []string{"10.0.0.1"}
	if page, err := s.client.Fetch(t.Context(), s.at(t, "dev.localhost", "/"), none); err != nil || page.Text != "here" {
		t.Errorf("a name of this machine: %+v, %v", page, err)
	}
	wiki := s.at(t, "wiki.example", "/")
	_, err := s.client.Fetch(t.Context(), wiki, all)
	var own *OwnError
	if !errors.As(err, &own) || own.Host != wiki.Host {
		t.Errorf("a name that is not public without leave: %v", err)
	}
	byRule := func(host string) (bool, bool) { return true, host == own.Host }
	if page, err := s.client.Fetch(t.Context(), wiki, byRule); err != nil || page.Text != "here" {
		t.Errorf("a server that a rule names: %+v, %v", page, err)
	}
}

func TestOfflineNothingIsLookedUp(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	s.client.Offline = true
	s.client.lookup = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name server was asked")
		return nil, errors.New("no")
	}}
	for _, host := range []string{"go.dev", "8.8.8.8", "[2606:4700::1111]"} {
		if _, err := s.client.Fetch(t.Context(), s.at(t, host, "/"), all); err == nil ||
			!strings.Contains(err.Error(), "ARTOO_OFFLINE") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if page, err := s.client.Fetch(t.Context(), s.at(t, "localhost", "/"), none); err != nil || page.Text != "here" {
		t.Errorf("%+v, %v", page, err)
	}
}

func TestAProxyIsAskedForPublicNamesAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "by proxy: "+r.URL.String()) })
	s.client.ownAddr = nil
	proxy, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.client.Base.Proxy = http.ProxyURL(proxy)
	u, _ := Parse("http://go.dev/doc")
	if page, err := s.client.Fetch(t.Context(), u, none); err != nil || page.Text != "by proxy: http://go.dev/doc" {
		t.Errorf("%+v, %v", page, err)
	}
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "go.dev" {
			t.Errorf("the proxy was asked for %s", r.URL)
		}
		http.Redirect(w, r, "http://127.0.0.1/admin", http.StatusFound)
	})
	if _, err := s.client.Fetch(t.Context(), u, all); err == nil || !strings.Contains(err.Error(), "127.0.0.1 is an address of this machine") {
		t.Errorf("%v", err)
	}
}

func TestWhatIsSentNamesArtooAndNobodyElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/x", http.StatusFound)
			return
		}
		if r.UserAgent() != "artoo/test" || r.Header.Get("Cookie")+r.Header.Get("Referer")+r.Header.Get("Authorization") != "" {
			t.Errorf("%v", r.Header)
		}
	})
	for range 2 {
		if _, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/"), none); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatUnpacksToMuchIsCut(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
	for range 16 { // three times the bytes read
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	z.Close()
	empty := bytes.Repeat(packed(t, ""), 1<<19) // members of nothing
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		switch r.URL.Path {
		case "/bomb":
			w.Write(bomb.Bytes())
		case "/twice":
			w.Write(packed(t, bomb.String()))
		case "/empty":
			w.Write(empty)
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
		case "/endless":
			w.Header().Del("Content-Encoding")
			for _, err := w.Write(zeros); err == nil; _, err = w.Write(zeros) {
			}
		}
	})
	for path, want := range map[string]string{"/bomb": "cut", "/endless": "cut", "/brotli": "did not request", "/empty": ""} {
		page, err := s.client.Fetch(t.Context(), s.at(t, "a.example", path), none)
		got := ""
		if err != nil {
			got = err.Error()
		} else if page.Cut {
			got = "cut"
		}
		if !strings.Contains(got, want) || page.Bytes > maxBody {
			t.Errorf("%s: %q, %d bytes", path, got, page.Bytes)
		}
	}
	if page, err := s.client.Fetch(t.Context(), s.at(t, "a.example", "/twice"), none); err != nil || page.Bytes > bomb.Len() {
		t.Errorf("packed twice: %d bytes, %v", page.Bytes, err)
	}
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestASlowServerAndAnInterruptEndTheFetch(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		stuck <- struct{}{}
		<-r.Context().Done()
	})
	interrupted := errors.New("interrupted")
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-stuck
		stop(interrupted)
	}()
	if _, err := s.client.Fetch(ctx, s.at(t, "a.example", "/"), none); !errors.Is(err, interrupted) {
		t.Errorf("%v", err)
	}
	short, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("time is up"))
	defer cancel()
	go func() { <-stuck }()
	if _, err := s.client.Fetch(short, s.at(t, "a.example", "/"), none); err == nil || err.Error() != "time is up" {
		t.Errorf("%v", err)
	}
}

func TestAPageIsKeptToBeShownFurther(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "text") })
	u := s.at(t, "a.example", "/")
	if _, kept := s.client.Kept(u); kept {
		t.Error("kept before it was fetched")
	}
	if _, err := s.client.Fetch(t.Context(), u, none); err != nil {
		t.Fatal(err)
	}
	if page, kept := s.client.Kept(u); !kept || page.Text != "text" {
		t.Errorf("%+v %v", page, kept)
	}
	for n := range keepPages {
		if _, err := s.client.Fetch(t.Context(), s.at(t, "a.example", fmt.Sprint("/", n)), none); err != nil {
			t.Fatal(err)
		}
	}
	if _, kept := s.client.Kept(u); kept {
		t.Error("pages pile up")
	}
}
