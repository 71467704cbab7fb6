package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/ui"
	"artoo/ui/sanitize"
)

// signIn takes the address that a browser is sent to at the end of a login: by a listener on
// 127.0.0.1, or as the user pastes it.
type signIn struct {
	app      *app
	redirect string
	listener net.Listener // nil where no port could be had: the address is pasted then

	mu      sync.Mutex
	state   string      // the login that is waited for has it
	arrived chan string // gets its address
	pasted  chan string // lines of stdin; nil before they are read
}

// newSignIn listens on the port, 0 for any.
func newSignIn(a *app, port int) *signIn {
	s := &signIn{app: a, arrived: make(chan string, 1)}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		a.warn("artoo cannot listen for the browser's redirect (" + err.Error() + "): paste the address that the browser ends at")
		s.redirect = "http://127.0.0.1:" + strconv.Itoa(cmp.Or(port, 41999)) + "/callback"
		return s
	}
	s.redirect, s.listener = "http://"+listener.Addr().String()+"/callback", listener
	go s.serve()
	return s
}

func (s *signIn) close() {
	if s.listener != nil {
		_ = s.listener.Close() // no browser waits for an answer any more
	}
}

// serve answers the browser until the listener is closed. net/http's server would add two thirds of a
// megabyte to the program for this one page.
func (s *signIn) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.answer(conn)
	}
}

// pageTimeout bounds a connection of the browser, which may open some that it does not use.
const pageTimeout = 10 * time.Second

// answer takes one request of the browser. One that is not of the login that is waited for changes
// nothing: any page can make the browser send it.
func (s *signIn) answer(conn net.Conn) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(pageTimeout)) // reading and writing fail where it is closed
	r, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, 64<<10)))
	if err != nil {
		return
	}
	status, text := "200 OK", "artoo has received the login. You can close this page.\n"
	if r.URL.Path != "/callback" || !s.take("http://"+r.Host+r.URL.RequestURI()) {
		status, text = "404 Not Found", "artoo is not waiting for this.\n"
	}
	fmt.Fprintf(conn, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, len(text), text)
}

// take passes an address on if it is of the login that is waited for.
func (s *signIn) take(address string) bool {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == "" || u.Query().Get("state") != s.state {
		return false
	}
	s.state = ""
	s.arrived <- address
	return true
}

// ask has the user log in at an address, and waits for the address that follows. It does not wait
// where none can arrive: without a browser and without input.
func (s *signIn) ask(ctx context.Context, server, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || sanitize.Text(address, sanitize.Line) != address {
		return "", errors.New("the login address cannot be opened")
	}
	s.mu.Lock()
	s.state = u.Query().Get("state")
	s.mu.Unlock()
	s.app.screen.Note("log in to " + server + " at:\n\n  " + address + "\n")
	next := "after the login artoo continues by itself; if not, paste the address that the browser then shows: it begins with " +
		s.redirect + "?code="
	opened, err := ui.OpenBrowser(address, s.app.browserEnviron())
	if err == nil {
		next = "opened by " + opened + "; " + next
	}
	s.app.screen.Note(next)
	if s.pasted == nil {
		s.pasted = make(chan string)
		go func() {
			defer close(s.pasted)
			for lines := bufio.NewScanner(s.app.process.In); lines.Scan(); {
				s.pasted <- lines.Text()
			}
		}()
	}
	pasted := s.pasted
	for {
		select {
		case address := <-s.arrived:
			return address, nil
		case line, ok := <-pasted:
			if !ok {
				if pasted = nil; s.listener == nil || opened == "" {
					return "", errors.New("no one can answer: no browser can return to artoo, and there is no more input")
				}
				continue
			}
			if strings.TrimSpace(line) != "" && !s.take(line) {
				s.app.screen.Note("that is not the address of this login: it begins with " + s.redirect + "?code=")
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// ownEnviron is the environment of the programs that artoo starts by itself: without keys.
func (s *session) ownEnviron() []string {
	return environ.WithoutKeys(s.startEnviron(), s.cfg.KeyVariables()...)
}

// browserEnviron is the environment of the user's browser, by which it is looked up.
func (s *session) browserEnviron() environ.Vars {
	return environ.WithoutKeys(s.process.Environ, s.cfg.KeyVariables()...)
}

func (c *mcpCommand) login(ctx context.Context, words []string) error {
	name, err := c.open(ctx, words[0], true)
	if err != nil {
		return err
	}
	if err := c.servers.Login(ctx, name); err != nil {
		return err
	}
	c.app.screen.Note("logged in to " + name)
	return nil
}

func (c *mcpCommand) logout(ctx context.Context, words []string) error {
	name, err := c.open(ctx, words[0], false)
	if err != nil {
		return err
	}
	was, err := c.servers.Logout(ctx, name)
	switch {
	case err != nil:
		return err
	case was:
		c.app.screen.Note("logged out of " + name)
	default:
		c.app.screen.Note("there was no login to " + name)
	}
	return nil
}
