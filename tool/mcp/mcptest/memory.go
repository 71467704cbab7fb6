package mcptest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
)

// MemoryURL is the address of servers in memory, without path.
const MemoryURL = "http://test.example"

// InMemory serves without a network: a clock of synctest can move the client and the server. end
// ends the server.
func (w *Web) InMemory() (client *http.Client, end func() error) {
	w.SetURL(MemoryURL)
	conns := pipes{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: w, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(conns) // it says that it was closed
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case conns.made <- theirs:
			return ours, nil
		case <-conns.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return &http.Client{Transport: transport}, func() error {
		close(w.over)
		transport.CloseIdleConnections()
		err := server.Close()
		<-served
		return err
	}
}

// pipes is a net.Listener.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
}

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.made:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p.closed)
	return nil
}

// Addr implements net.Listener.
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }
