package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// neighbour is a program for scripts, which serves at an address, or prints the page
// fetched from there, and returns its exit status.
func neighbour(verb, address string) int {
	do := fetch
	if verb == "serve" {
		do = serve
	}
	if err := do(address); err != nil {
		fmt.Println("nothing:", err)
		return 1
	}
	return 0
}

func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "served within\n") // the client may be gone
	}))
}

func fetch(address string) error {
	res, err := http.Get("http://" + address)
	if err != nil {
		return errors.Unwrap(err) // which leaves the address out
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	fmt.Printf("fetched: %s", body)
	return nil
}
