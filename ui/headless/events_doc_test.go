package headless

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/changes"
	"artoo/ui/result"
)

var update = flag.Bool("update", false, "rewrite docs/events.md")

// object is an object that programs write or read, with the meanings of its fields in their order.
type object struct {
	name, about string
	value       any
	fields      []string
}

// output are the events, in the order in which they first come. A field without a meaning has that of commonFields.
func output() []object {
	const queued = "With `--input jsonl`: "
	return []object{
		{"session", "The first line. With `--input jsonl` it comes again when session, model or mode have changed.", sessionEvent{},
			[]string{"", "", "", "", "", "", "approval mode", ""}},
		{"ready", queued + "artoo has nothing left to do and waits for input.", bareEvent{}, []string{""}},
		{"accepted", queued + "a message or a command is in the queue. One `turn_end` names it, in `id` or in `joined`.", acceptedEvent{},
			[]string{"", "the line's own id, or a number that artoo gave it"}},
		{"text", "A piece of the reply, or of the model's reasoning.", textEvent{}, []string{"or `reasoning`", "the piece"}},
		{"tool_input", "The model is writing the arguments of a call. At most four of these per second for each call.", inputEvent{},
			[]string{"", "`\"\"` while it is not known", "", "bytes of arguments so far", "", ""}},
		{"tool_call", "The model calls a tool.", callEvent{},
			[]string{"", callID, "", "`null` when the model wrote no JSON", "", "", "number of calls in the reply", "", ""}},
		{"question", "artoo asks. The answer is a line of the input.", agent.QuestionEvent{}, []string{
			"", "the answer names it", "one of the [kinds](#questions)", "the question in a few words, some from the model or a server",
			"the possible answers", "id of the call in question", "that call's tool", "its whole input, with marks in place of keys", "",
			"directory where commands start", "true: it would run outside the sandbox",
			"those that it would reach from the sandbox", "why artoo asks", "the narrowest rule that would allow this call",
			"a wider rule", "the change as a unified diff", "a row for each file that a command changed on its layer", "the plan to approve, in Markdown",
			"answers to choose from", "what an MCP server asks: see `form`", ""}},
		{"form", "The field `form` of a question.", agent.FormEvent{}, []string{"the MCP server", "the host or program that gets the values",
			"the server's words", "the address to open, in place of a form", "JSON Schema of the values, flat"}},
		{"approval", "A question was answered, or no one could answer it.", approvalEvent{}, []string{"", "the question's id", callID, "", "",
			"one of the question's `answers`", "true: no one could answer", "the reason in the answer", "the narrowest rule that would allow the call", "",
			"hook or program that answered, if not the user", "`typed`, `hook`, `program`, `editor` or `nobody`",
			"hash of the question without its ids, as the [session file](formats.md#note) has it"}},
		{"tool_output", "Live output of a running call, at most 30 KB a call.", outputEvent{}, []string{"", callID, "the piece", ""}},
		{"tool_result", "A call has ended.", callResultEvent{}, []string{"", callID, "", "`ok`, `failed`, `denied`, `unanswered`, `interrupted`",
			"the result as the model gets it", "file with all of it, if `text` was cut", "milliseconds it ran", ""}},
		{"retry", "A request failed, and artoo sends it again.", retryEvent{}, []string{"", "number of the next try", "number of tries in all",
			"milliseconds until then", "drop this many of the last `text` and `reasoning` lines when a new `text` or `usage` line comes", "why"}},
		{"notice", "Kind `step`: a coding CLI did something, and the text before it was not the answer. `compacted`: a summary replaced old messages. " +
			"`model`: another model answers. `command`: the output of a command of the input.", noticeEvent{},
			[]string{"", "`info`, `warning`, `cap`, `model`, …", "one sentence, or the command's lines"}},
		{"usage", "A request to the model has ended.", usageEvent{}, []string{"", "see `request`", "see `quota`"}},
		{"request", "The field `request`, and an item of `requests`.", agent.RequestReport{}, []string{
			"the provider's id", "", "", "", "milliseconds", "number of times it was sent", "true: a small model's"}},
		{"quota", "The field `quota`: rate limits, as the server's last reply has them.", provider.Quota{}, quota},
		{"limit", "An item of `limits`.", provider.RateLimit{}, limit},
		{"tokens", "The field `usage`.", provider.Usage{}, []string{"not from the cache", "read from the cache", "written to the cache", "of the reply",
			"part of the output", "true: artoo estimated a part", "what the provider says it charged"}},
		{"turn_end", queued + "a message or a command is done.", turnEndEvent{}, []string{"", "that of `accepted`",
			"ids of messages with `when` `now` that reached the model in this turn", "as in `result`; `\"\"` if nothing was sent", "", "",
			"as in `result`", "", "", "", "`null`, or as in `result`; its `kind` may also be `interrupted` and `stopped`, which do not count for the exit code"}},
		{"input_error", queued + "a line was invalid or could not be carried out. The run exits 2 if nothing worse happened.",
			inputErrorEvent{}, []string{"", "its number, from 1", "why"}},
		{"result", "The last line, unless the flags are invalid; `-o json` prints only this. With `--input jsonl` it covers all turns, and `result` is the last answer.",
			result.Result{}, results},
		{"denied", "An item of `denied`.", agent.Denial{}, []string{"", "", "why", "the rule that would have allowed it, or `\"\"`",
			"true: no one could answer", "code of the reason; `artoo trust --run` allows `own-programs`",
			"discarded changes of a command: rows such as `deleted: old.txt`; more than 60 by directory"}},
		{"effects", "The field `effects`.", agent.Reach{}, effects},
		{"answered", "An item of `answered`.", agent.HookAnswer{}, []string{"", "", "the answer", "its reason", "the hook or the program"}},
		{"error", "The field `error`.", result.Error{}, []string{"see [exit codes](headless.md#exit-codes), or `signal`", "the failure in a line", "what to do, or `\"\"`"}},
		{"review", "`artoo review -o json` prints only this, however it ends.", ReviewResult{},
			[]string{"", "", "see `finding`", "number of reviewed files", "files that were not reviewed, see `skipped`", "", "", "", "", "", "", "", ""}},
		{"finding", "An item of `findings`.", changes.Finding{}, []string{fromTheTop, "from 1, in the file as the change leaves it", "the last line",
			"the first that is not a space, from 1", "after the last character of `end_line`", "`error`, `warning`, `note`", "lower-case letters, digits and hyphens", "one line"}},
		{"skipped", "An item of `skipped`.", agent.Unreviewed{}, []string{fromTheTop, "why"}},
	}
}

// results are the meanings of the fields of result.Result.
var results = []string{"", "", "the answer, or after an error the part that arrived; with `--schema` the JSON value, or `null`", "", "", "",
	"`complete`, `tool_use`, `max_tokens`, `refusal`, …; `\"\"` when no reply ended", "", "", "", "", "refused calls, see `denied`",
	"what the run changed and reached, see `effects`",
	"questions that hooks or a program answered, see `answered`", "background commands that ended with the run", "", "",
	"`none`, `read`, `file` (it was long), `skipped` (nothing came in time)", "", "see `request`",
	"see `quota`", "file of changes that did not land ([`--until`](effects.md))", ""}

// quota and limit are the meanings of the fields of provider.Quota and provider.RateLimit.
var (
	quota = []string{"", "when", "see `limit`"}
	limit = []string{"the server's name for it, or `rate limit`", "100 if the limit is a percentage",
		"number or per cent left", "when it is full again, if something is used"}
)

// effects are the meanings of the fields of agent.Reach.
var effects = []string{"files that are new, by the undo journal; 0 without one", "files that changed", "files that are gone",
	"calls that ran outside the sandbox, each once", "hosts that web tools tried to reach or lines in the sandbox reached, each once",
	"calls that ran in the sandbox with the network, each once: tools of MCP servers, " +
		"and commands where the system cannot keep them from it"}

// Descriptions that several objects share.
const (
	callID     = "the call's id"
	fromTheTop = "from the top of the repository, with slashes"
)

// commonFields are fields that mean the same wherever they are.
var commonFields = [][2]string{
	{"v", "1; fields may be added within a version"},
	{"session_id", "what `--resume` takes, or `\"\"`"},
	{"provider", "provider that answers, or answered last; `\"\"` if nothing was sent"},
	{"model", "its model"},
	{"agent", "sub-agent whose call it is"},
	{"parent", "id of the call that started the sub-agent"},
	{"tool", "the tool's name"},
	{"object", "the command, path or address"},
	{"index", "place among the calls of one reply, from 0"},
	{"turns", "number of requests to the model"},
	{"usage", "see `tokens`; a sum if there are several requests"},
	{"cost_usd", "US dollars; `null` when a price is not known"},
	{"duration_ms", "milliseconds of the run"},
	{"sandbox", "what confines commands: `namespaces`, `landlock`, `sandbox-exec` or `none`"},
	{"unconfined", "why nothing confines commands"},
	{"exit_code", "see [exit codes](headless.md#exit-codes); 128 and the signal's number if a signal ended the run"},
	{"error", "`null`, or an [error](#error)"},
}

func inputs() []object {
	id := "comes back in `accepted` and `turn_end`; the default is a number"
	return []object{
		{"user", "A message to the model, in which `/`, `!`, `#` and `@` mean nothing.", userInput{}, []string{"", "the message", id,
			"files of the project to attach, under the rules of `@FILE`",
			"`next` (the default): at the end of the queue; `now`: at the next step of the running turn, or else as the next message"}},
		{"answer", "The answer to a waiting question. A late answer is ignored.", answerInput{}, []string{"", "the question's id", "one of the question's `answers`",
			"goes to the model with `no`", "with `session` and `forever`: the rule to add; the default is the question's `rule`", "answers `choice` and `compact`",
			"of an `approval` the edited input, of a `form` the values"}},
		{"interrupt", "Ends the running turn. The queue continues.", bareInput{}, []string{""}},
		{"set", "Sets something for the lines after it in the queue.", setInput{}, []string{"", "approval mode: `ask`, `edits`, `auto`, `plan`", "a model, or PROVIDER/MODEL", "`off`, `low`, `medium`, `high`, `max`"}},
		{"command", "A slash command, or a skill or command of the user.", commandInput{}, []string{"", "the line, with its slash", id}},
		{"end", "Ends the input, as the end of the stream does. artoo finishes the queue as a headless run does.", bareInput{}, []string{""}},
	}
}

// kinds are the meanings of the kinds of question, and of their answers.
var kinds = map[agent.QuestionKind]string{
	agent.QuestionApproval: "May the call run? `session` and `forever` add the rule, and are missing without one; `stop` also ends the turn",
	agent.QuestionSteps:    "The turn has used up its steps. Continue it?",
	agent.QuestionLimit:    "A rate limit says when it resets. Wait until then?",
	agent.QuestionChanges:  "A command ran on a layer. Apply its changes?",
	agent.QuestionOutside:  "The sandbox denied the command something. Run it again outside?",
	agent.QuestionWhole:    "A background command may not write something. Start it again with the whole project writable?",
	agent.QuestionPlan:     "Approve the plan? `session` also sets the mode `edits`, `fresh` begins a fresh context",
	agent.QuestionMemory:   "Add the line to the project's memory?",
	agent.QuestionChoice:   "The model asks. Answer `yes` with `text`",
	agent.QuestionForm:     "An MCP server asks for values or shows an address. Answer `yes` with `input`; `no` declines, `cancel` ends it",
	agent.QuestionCompact:  "The history is too long. Answer `yes` with `text`, one of `choices`; `no` leaves out the oldest",
}

// kindsOfQuestion are the values of the constants of type QuestionKind, as the source has them.
func kindsOfQuestion(t *testing.T) (all []agent.QuestionKind) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../agent/callbacks.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "QuestionKind" {
				literal, _ := spec.Values[0].(*ast.BasicLit)
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Error(err)
				}
				all = append(all, agent.QuestionKind(value))
			}
		}
		return true
	})
	return all
}

// rows is an object as a list. Each field of the struct has a meaning, and no meaning is without a field.
func (o object) rows(t *testing.T, b *strings.Builder) {
	t.Helper()
	fmt.Fprintf(b, "\n### %s\n\n%s\n", o.name, o.about)
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeOf(o.value)), func(f reflect.StructField) bool {
		return f.Anonymous || f.Tag.Get("json") == "-"
	})
	if len(fields) != len(o.fields) {
		t.Fatalf("%s has %d fields, and %d have a meaning", o.name, len(fields), len(o.fields))
	}
	var common []string
	var list strings.Builder
	for i, f := range fields {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		field, meaning := "`"+name+"`", o.fields[i]
		if option == "omitempty" && !isInput(o) {
			field += "?"
		}
		switch {
		case name == "type" && meaning == "":
		case meaning == "":
			if !slices.ContainsFunc(commonFields, func(c [2]string) bool { return c[0] == name }) {
				t.Errorf("%s.%s has no meaning", o.name, name)
			}
			common = append(common, field)
		default:
			if name == "type" {
				meaning = "`" + o.name + "` " + meaning
			}
			fmt.Fprintf(&list, "- %s: %s\n", field, meaning)
		}
	}
	if common != nil {
		fmt.Fprintf(b, "Common fields: %s.\n", strings.Join(common, ", "))
	}
	if list.Len() > 0 {
		b.WriteString("\n" + list.String())
	}
}

func isInput(o object) bool {
	return slices.ContainsFunc(inputs(), func(in object) bool { return in.name == o.name })
}

// TestEventsDoc compares docs/events.md with the structs and this table.
func TestEventsDoc(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(eventsHead)
	for _, c := range commonFields {
		fmt.Fprintf(&b, "- `%s`: %s\n", c[0], c[1])
	}
	b.WriteString("\n## Output\n")
	for _, o := range output() {
		o.rows(t, &b)
	}
	b.WriteString(inputHead)
	for _, o := range inputs() {
		o.rows(t, &b)
	}
	b.WriteString(kindsHead)
	found := kindsOfQuestion(t)
	if len(found) != len(kinds) {
		t.Errorf("there are %d kinds of question, and %d have a meaning", len(found), len(kinds))
	}
	for _, kind := range found {
		var answers []string
		for _, v := range (agent.Question{Kind: kind, Rule: "bash(make)", Call: agent.Call{Access: tool.Access{}}}).Verdicts() {
			answers = append(answers, "`"+v.String()+"`")
		}
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", kind, strings.Join(answers, ", "), kinds[kind])
	}
	const page = "../../docs/events.md"
	if *update {
		if err := os.WriteFile(page, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(got)); diff != "" {
		t.Errorf("go test ./ui/headless -update rewrites it:\n%s", diff)
	}
}

const eventsHead = `<!-- Made by TestEventsDoc; go test ./ui/headless -update rewrites it. -->
# Events

This page lists the JSON objects that ` + "`-o jsonl`" + ` writes and ` + "`--input jsonl`" + ` reads, one per line.
` + "`artoo -p -o jsonl \"say hi\"`" + ` prints, with some fields left out (…):

` + "```json" + `
{"type":"session","v":1,"session_id":"s3wgty3x","provider":"anthropic", … }
{"type":"text","text":"Hi."}
{"type":"usage","request":{ … }}
{"v":1,"type":"result","result":"Hi.", … ,"exit_code":0,"requests":[ … ],"error":null}
` + "```" + `

[A program in place of the user](headless.md#a-program-in-place-of-the-user) has a longer example. Types and fields may be added within a version:
ignore those you do not know. Control characters and invisible ones are ` + "`\\u`" + ` escapes. The text and reasoning
of a sub-agent are not reported; its ` + "`usage`" + ` comes with the result of the call that started it.

Each heading below is a ` + "`type`" + `, or a part of one. Fields with a ? may be missing.

## Common fields

`

const inputHead = `
## Input

Lines of up to 32 MiB. An unknown type or field is an error. ` + "`user`, `set` and `command`" + ` wait in one queue; the others take effect at once.
`

const kindsHead = `
## Questions

` + "`ARTOO_ASK_PROGRAM`" + ` gets the same objects. Any answer except these words decides nothing. A question about a definition that an MCP
server changed has no ` + "`session` or `forever`" + `.

`
