package conversation

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
)

// childVar makes the test binary a process that writes a session and waits to
// be killed.
const childVar = "CONVERSATION_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVar); dir != "" {
		os.Exit(child(Store{Dir: dir}))
	}
	os.Exit(m.Run())
}

func child(st Store) int {
	s := st.Create(testHeader())
	c := New(Config{}, s)
	for i := range 50 {
		if err := c.Append(user(fmt.Sprint("message ", i))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	fmt.Println(s.ID())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until killed
		return 1
	}
	return 0
}

// TestKilled kills a process right after it appended: nothing is lost, its
// session is in use until then and free afterwards.
func TestKilled(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+st.Dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	must(t, cmd.Start())
	scanner := bufio.NewScanner(out)
	if !scanner.Scan() {
		t.Fatal("the child wrote nothing")
	}
	id := scanner.Text()
	fork, err := st.Open(id)
	must(t, err)
	if fork.Header().ForkOf != id || len(fork.Messages()) != 50 {
		t.Errorf("opened %s with %d messages while %s is in use", fork.ID(), len(fork.Messages()), id)
	}
	must(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended well")
	}
	s, err := st.Open(id)
	must(t, err)
	if s.ID() != id || len(s.Messages()) != 50 || len(s.Notices()) != 0 {
		t.Errorf("%s: %d messages, %q", s.ID(), len(s.Messages()), s.Notices())
	}
	must(t, s.Close())
}
