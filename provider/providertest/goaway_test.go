package providertest

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"testing"
)

// goAway is a server of HTTP/2 that sends the head of a reply and its first
// bytes, says that it goes away because of an error of its own, and does so.
func goAway(t *testing.T, reply Reply) *Server {
	t.Helper()
	s := ServeTLS(t, Script())
	l, err := tls.Listen("tcp", "127.0.0.1:0",
		&tls.Config{Certificates: s.srv.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			leave(conn.(*tls.Conn), reply)
		}
	}()
	s.URL = "https://" + l.Addr().String()
	return s
}

// The frames that are needed, and a flag that two of them have.
const (
	frameData, frameHeaders, frameSettings, frameGoAway = 0, 1, 4, 7
	flagEndStream, flagEndHeaders                       = 1, 4
)

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	size := len(payload)
	head := []byte{byte(size >> 16), byte(size >> 8), byte(size), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// leave reads one request to its end and answers it as far as it goes. The test checks the client's reaction, so errors
// are ignored here.
func leave(conn *tls.Conn, reply Reply) {
	defer conn.Close()
	_, _ = io.ReadFull(conn, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
	_, _ = conn.Write(frame(frameSettings, 0, 0, nil))
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return
		}
		if kind := head[3]; (kind == frameData || kind == frameHeaders) && head[4]&flagEndStream != 0 {
			break
		}
	}
	// :status 200 and content-type are entries 8 and 31 of the static table.
	fields := append([]byte{0x80 | 8, 0x0f, 31 - 15, byte(len(reply.ContentType))}, reply.ContentType...)
	_, _ = conn.Write(frame(frameHeaders, flagEndHeaders, 1, fields))
	_, _ = conn.Write(frame(frameData, 0, 1, reply.Body))
	_, _ = conn.Write(frame(frameGoAway, 0, 0, []byte{0, 0, 0, 1, 0, 0, 0, 2})) // the last stream, INTERNAL_ERROR
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, conn) // unread bytes would make the end a reset, which may overtake the frames
}
