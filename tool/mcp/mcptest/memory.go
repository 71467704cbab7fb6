package mcptest

import (
	"io"
	"log"
	"net/http"

	"artoo/tool/needs/pipes"
)

// MemoryURL is the address of servers in memory, without path.
const MemoryURL = "http://test.example"

// InMemory serves without a network: a clock of synctest can move the client and the server. end
// ends the server.
func (w *Web) InMemory() (client *http.Client, end func() error) {
	w.SetURL(MemoryURL)
	listener := pipes.Listen()
	server := &http.Server{Handler: w, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // it says that it was closed
	}()
	transport := &http.Transport{DialContext: listener.Dial}
	return &http.Client{Transport: transport}, func() error {
		close(w.over)
		transport.CloseIdleConnections()
		err := server.Close()
		<-served
		return err
	}
}
