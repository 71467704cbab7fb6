package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/shell"
)

const (
	maxMessage = 16 << 20 // bytes of one message
	large      = 1 << 20  // bytes of a message that memory is made free for
	maxParts   = 200_000  // values of one message: the smallest take a hundred times their bytes once they are read
	maxWrites  = 100      // messages to a server that wait until it takes them
	maxLog     = 1 << 20  // bytes of a server's log; a fuller one is begun again
	// patience is how long a server has to end after its stdin was closed, and again after TERM.
	patience = 2 * time.Second
)

// process is a server's process, with messages on its stdin and stdout. It implements sdk.Connection
// and sdk.Transport.
type process struct {
	started  shell.Started
	stdin    *os.File
	write    sync.Mutex // guards stdin
	writing  atomic.Int32
	messages chan jsonrpc.Message
	closing  chan struct{} // closed when the process is to end
	once     sync.Once
	gone     chan struct{} // closed when it has ended, with all that it started
	log      *serverLog

	mu  sync.Mutex
	err error // why no further message comes
}

// startProcess starts a server. start is as Config.Start, without the server.
func startProcess(cmd *exec.Cmd, start shell.Start, log *serverLog) (*process, error) {
	var pipes []*os.File
	closeAll := func(files ...*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes...)
			return nil, err
		}
		pipes = append(pipes, r, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	started, err := start(cmd)
	closeAll(pipes[0], pipes[3], pipes[5])
	if err != nil {
		closeAll(pipes[1], pipes[2], pipes[4])
		return nil, err
	}
	p := &process{started: started, stdin: pipes[1], messages: make(chan jsonrpc.Message),
		closing: make(chan struct{}), gone: make(chan struct{}), log: log}
	var readers sync.WaitGroup
	readers.Go(func() { log.copy(shell.NewPipeReader(pipes[4])); pipes[4].Close() })
	go func() { p.read(shell.NewPipeReader(pipes[2])); pipes[2].Close() }()
	go func() {
		defer close(p.gone)
		p.await()
		p.closeStdin()
		// A process that left everything behind may hold the pipes for ever.
		shell.EndPipe(pipes[4])
		shell.EndPipe(pipes[2])
		readers.Wait()
		log.close()
	}()
	return p, nil
}

// await waits for the process's end, or ends it: stdin was closed, it gets some time, TERM, again
// some time and KILL, with all that it started.
func (p *process) await() {
	select {
	case <-p.started.Done():
	case <-p.closing:
		p.closeStdin()
		if !within(p.started.Done(), patience) {
			p.started.Signal(syscall.SIGTERM)
			within(p.started.Done(), patience)
		}
	}
	p.started.KillAll()
	<-p.started.Done()
	p.started.Release()
}

func within(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// closeStdin ends a write that a server does not take, too.
func (p *process) closeStdin() { p.stdin.Close() }

// stop has the process end, and waits for that.
func (p *process) stop() {
	p.once.Do(func() { close(p.closing) })
	<-p.gone
}

// read passes messages on. Other lines go to the log: servers print banners and log lines.
func (p *process) read(from io.Reader) {
	defer close(p.messages)
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 {
			msg := decode(line)
			if msg == nil {
				p.log.write(append(line, '\n'), false)
			} else {
				select {
				case p.messages <- msg:
				case <-p.closing:
					return
				}
			}
		}
		if err != nil {
			p.mu.Lock()
			if p.err = err; errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
				p.err = io.EOF
			}
			p.mu.Unlock()
			p.once.Do(func() { close(p.closing) })
			return
		}
	}
}

var errUnread = fmt.Errorf("the server does not read: over %d messages wait for it", maxWrites)

var errTooLong = fmt.Errorf("a message is over %d MiB", maxMessage>>20)

// readLine is the next line without its end, or an error for one that is too long.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			return nil, errTooLong
		}
		if cap(line)-len(line) < len(part) { // append alone would leave five times as much behind
			if len(line) >= large {
				debug.FreeOSMemory() // Earlier messages left memory, and this one will take several times its size.
			}
			line = slices.Grow(line, max(len(line), len(part)))
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return line, err
		default:
			return line[:len(line)-1], nil
		}
	}
}

// decode is the message of a line, nil where the line is none.
func decode(line []byte) jsonrpc.Message {
	if line[0] != '{' {
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil
	}
	r, ok := msg.(*jsonrpc.Response)
	switch {
	case !manyParts(line):
		if ok {
			r.Result = passable(r.Result)
		}
	case ok:
		r.Result, r.Error = nil, errParts()
	default:
		return nil
	}
	return msg
}

// manyParts reports whether a message in JSON has too many values.
func manyParts(message []byte) bool {
	if len(message) <= maxParts {
		return false
	}
	parts, quoted := 0, false
	for i := 0; i < len(message); i++ {
		switch b := message[i]; {
		case b == '\\' && quoted:
			i++
		case b == '"':
			quoted = !quoted
		case !quoted && (b == '{' || b == '[' || b == ','):
			parts++
		}
	}
	return parts > maxParts
}

func errParts() error {
	return &jsonrpc.Error{Code: -32603, Message: fmt.Sprintf("the answer has over %d parts", maxParts)}
}

// Connect implements sdk.Transport.
func (p *process) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// Read implements sdk.Connection.
func (p *process) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-p.messages:
		if ok {
			return msg, nil
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err != nil {
			return nil, p.err
		}
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements sdk.Connection.
func (p *process) Write(ctx context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	defer p.writing.Add(-1)
	if p.writing.Add(1) > maxWrites {
		return errors.Join(errUnread, p.Close())
	}
	p.write.Lock()
	defer p.write.Unlock()
	// A server that reads nothing must not hold the caller up. Half a message is the end.
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	n, err := p.stdin.Write(append(line, '\n'))
	if n >= len(line) { // of half a message nothing runs
		markSent(ctx)
	}
	return err
}

// Close implements sdk.Connection.
func (p *process) Close() error {
	p.once.Do(func() { close(p.closing) })
	return nil
}

// SessionID implements sdk.Connection.
func (p *process) SessionID() string { return "" }

// probe asks the process which protocol it speaks, and reports the version to begin with. Silence
// and every answer of old servers mean an old one.
func (p *process) probe(ctx context.Context, version string, wait time.Duration) (string, error) {
	const probeID = "artoo-probe"
	id, err := jsonrpc.MakeID(probeID)
	if err != nil {
		return "", err
	}
	params, err := json.Marshal(map[string]any{"_meta": map[string]any{
		sdk.MetaKeyProtocolVersion:    modern,
		sdk.MetaKeyClientInfo:         map[string]string{"name": "artoo", "version": version},
		sdk.MetaKeyClientCapabilities: map[string]any{},
	}})
	if err != nil {
		return "", err
	}
	if err := p.Write(ctx, &jsonrpc.Request{ID: id, Method: "server/discover", Params: params}); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		msg, err := p.Read(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return legacy, nil
		}
		if err != nil {
			return "", err
		}
		if r, ok := msg.(*jsonrpc.Response); ok && r.ID == id {
			return eraOf(r), nil
		}
	}
}

// The newest version of each era.
const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

// eraOf is the version to begin with after the answer to a probe.
func eraOf(r *jsonrpc.Response) string {
	if r.Error == nil {
		var found struct {
			Versions []string `json:"supportedVersions"`
		}
		if json.Unmarshal(r.Result, &found) == nil && len(found.Versions) > 0 {
			for _, v := range found.Versions {
				if v >= modern {
					return modern
				}
			}
		}
		return legacy
	}
	if e, ok := errors.AsType[*jsonrpc.Error](r.Error); ok && e.Code <= -32020 && e.Code >= -32022 {
		return modern
	}
	return legacy
}

// serverLog keeps a server's stderr, and the lines of its stdout that are no messages.
type serverLog struct {
	mu   sync.Mutex
	file *os.File // nil without a directory for it
	size int
	last string // the last line of stderr with something in it
}

// openLog opens the log of a server in artoo's directory; "" keeps the last line only.
func openLog(dir, name string) *serverLog {
	log := &serverLog{}
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return log
	}
	f, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err == nil { // without a log the server works as well
		log.file = f
	}
	return log
}

func (l *serverLog) copy(from io.Reader) {
	lines := bufio.NewReaderSize(from, 4096)
	for {
		part, err := lines.ReadSlice('\n')
		l.write(part, true)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// write keeps a server's output; errors quote the last line of stderr.
func (l *serverLog) write(part []byte, stderr bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line := oneLine(string(part[:min(len(part), 4096)])); stderr && line != "" {
		l.last = line
	}
	if l.file == nil {
		return
	}
	if l.size+len(part) > maxLog {
		if l.file.Truncate(0) != nil {
			return
		}
		if _, err := l.file.Seek(0, io.SeekStart); err != nil {
			return
		}
		l.size = 0
	}
	n, _ := l.file.Write(part[:min(len(part), maxLog)]) // a full disk costs the log only
	l.size += n
}

func (l *serverLog) lastLine() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

func (l *serverLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
