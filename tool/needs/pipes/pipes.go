// Package pipes connects a client and a server in one test without a network: a clock of
// testing/synctest can move both.
package pipes

import (
	"context"
	"net"
	"sync"
)

// Listener is a net.Listener whose connections are made by Dial.
type Listener struct {
	made   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen makes a Listener.
func Listen() *Listener { return &Listener{made: make(chan net.Conn), closed: make(chan struct{})} }

// Dial connects to the listener, whatever the address. It is a transport's DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.made <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.made:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }
