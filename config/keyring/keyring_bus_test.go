//go:build linux

package keyring

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// bus is a session bus with a Secret Service on it, for one client at a time.
type bus struct {
	mu     sync.Mutex
	items  map[string][]byte // keyed by user name
	locked bool              // every unlocking asks the user, and no answer comes
	calls  []string
	conns  []net.Conn
}

const (
	secrets    = "org.freedesktop.Secret."
	collection = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	none       = dbus.ObjectPath("/")
)

// startBus makes b the session bus.
func startBus(t *testing.T, b *bus) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+path)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns = append(b.conns, conn)
			b.mu.Unlock()
			serving.Go(func() { b.serve(conn) })
		}
	})
	t.Cleanup(func() {
		// The library keeps its connection for the whole process: the next test
		// may begin when it has noticed the end of this one.
		conn, err := dbus.SessionBus()
		if err != nil {
			t.Error(err)
		}
		defer func() { <-conn.Context().Done() }()
		l.Close()
		b.mu.Lock()
		for _, c := range b.conns {
			c.Close()
		}
		b.mu.Unlock()
		serving.Wait()
	})
}

// serve speaks the protocol: the handshake in lines, then messages.
func (b *bus) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	if _, err := r.ReadByte(); err != nil { // the zero byte that comes first
		return
	}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		answer := "ERROR\r\n"
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "AUTH":
			answer = "REJECTED EXTERNAL\r\n"
			if strings.Contains(line, "EXTERNAL") {
				answer = "OK 0123456789abcdef0123456789abcdef\r\n"
			}
		case "BEGIN":
			b.messages(conn, r)
			return
		}
		if _, err := conn.Write([]byte(answer)); err != nil {
			return
		}
	}
}

func (b *bus) messages(conn net.Conn, r *bufio.Reader) {
	for serial := uint32(1); ; serial++ {
		m, err := dbus.DecodeMessage(r)
		if err != nil {
			return
		}
		if m.Type != dbus.TypeMethodCall {
			continue
		}
		body := b.answer(m)
		reply := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()), dbus.FieldDestination: dbus.MakeVariant(":1.1"),
			dbus.FieldSender: dbus.MakeVariant("org.freedesktop.secrets"),
		}, Body: body}
		if len(body) > 0 {
			reply.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
		}
		if err := reply.EncodeTo(&numbered{Conn: conn, serial: serial}, binary.LittleEndian); err != nil {
			return
		}
	}
}

// numbered gives the message its serial number, which the library keeps to
// itself.
type numbered struct {
	net.Conn
	serial uint32
	wrote  bool
}

// Write implements io.Writer.
func (n *numbered) Write(p []byte) (int, error) {
	if !n.wrote && len(p) >= 12 {
		p = append([]byte(nil), p...)
		binary.LittleEndian.PutUint32(p[8:], n.serial)
		n.wrote = true
	}
	return n.Conn.Write(p)
}

type secretValue struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

func (b *bus) answer(m *dbus.Message) []any {
	b.mu.Lock()
	defer b.mu.Unlock()
	name, _ := m.Headers[dbus.FieldMember].Value().(string)
	path, _ := m.Headers[dbus.FieldPath].Value().(dbus.ObjectPath)
	b.calls = append(b.calls, name)
	switch name {
	case "Hello":
		return []any{":1.1"}
	case "Get": // the property with the collections
		return []any{dbus.MakeVariant([]dbus.ObjectPath{collection})}
	case "OpenSession":
		return []any{dbus.MakeVariant(""), dbus.ObjectPath("/org/freedesktop/secrets/session/1")}
	case "Unlock":
		if b.locked {
			return []any{[]dbus.ObjectPath{}, dbus.ObjectPath("/org/freedesktop/secrets/prompt/1")}
		}
		return []any{m.Body[0], none}
	case "SearchItems":
		found := []dbus.ObjectPath{}
		wanted, _ := m.Body[0].(map[string]string)
		if _, ok := b.items[wanted["username"]]; ok && wanted["service"] == service {
			found = append(found, collection+dbus.ObjectPath("/"+wanted["username"]))
		}
		return []any{found}
	case "CreateItem":
		properties := m.Body[0].(map[string]dbus.Variant)
		attributes := properties[secrets+"Item.Attributes"].Value().(map[string]string)
		b.items[attributes["username"]] = m.Body[1].([]any)[2].([]byte)
		return []any{collection + "/new", none}
	case "GetSecret":
		return []any{secretValue{"/org/freedesktop/secrets/session/1", []byte{}, b.items[filepath.Base(string(path))],
			"text/plain"}}
	case "Delete":
		delete(b.items, filepath.Base(string(path)))
		return []any{none}
	}
	return nil
}

func TestKeyring(t *testing.T) {
	b := &bus{items: map[string][]byte{}}
	startBus(t, b)
	k := System{Environ: os.Environ(), wait: time.Minute}
	if _, err := k.Get(t.Context(), "openai"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("an empty keyring: %v", err)
	}
	for _, key := range []string{"sk-1", "sk-2"} {
		if err := k.Set(t.Context(), "openai", key); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Get(t.Context(), "openai"); got != key || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if _, err := k.Get(t.Context(), "anthropic"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another provider's: %v", err)
	}
	if err := k.Delete(t.Context(), "openai"); err != nil {
		t.Error(err)
	}
	if _, err := k.Get(t.Context(), "openai"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
	if err := k.Delete(t.Context(), "openai"); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
}

// TestALockedKeyringIsNotWaitedFor: no user may be there to unlock it.
func TestALockedKeyringIsNotWaitedFor(t *testing.T) {
	b := &bus{items: map[string][]byte{"openai": []byte("sk-1")}, locked: true}
	startBus(t, b)
	k := System{Environ: os.Environ(), wait: 50 * time.Millisecond}
	if _, err := k.Get(t.Context(), "openai"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("get: %v", err)
	}
	if err := k.Set(t.Context(), "openai", "sk-2"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("set: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (System{Environ: os.Environ(), wait: time.Minute}).Get(ctx, "openai"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestASilentBusIsNotWaitedFor: it accepts and says nothing.
func TestASilentBusIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+path)
	if _, err := (System{Environ: os.Environ(), wait: 50 * time.Millisecond}).Get(t.Context(), "openai"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v", err)
	}
}

// TestNoBusIsStarted: without a session bus, nothing may be run to get one.
func TestNoBusIsStarted(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "autolaunch:")
	t.Setenv("PATH", t.TempDir())
	if _, err := (System{Environ: os.Environ()}).Get(t.Context(), "openai"); !errors.Is(err, ErrNone) {
		t.Errorf("%v", err)
	}
}
