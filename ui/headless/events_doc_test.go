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
	"artoo/ui/result"
)

var update = flag.Bool("update", false, "rewrite docs/events.md")

// object is an object that programs write or read, with the meanings of its fields in their order.
type object struct {
	name, about string
	value       any
	fields      []string
}

// output are the events, in the order in which they first come.
func output() []object {
	return []object{
		{"session", "The first line, left out when the run did not get that far. With `--input jsonl` it comes again when session, model or mode have changed.", sessionEvent{}, []string{
			"", "1; fields may be added within a version", "what `--resume` takes", "who answers", "the model that answers", confines, "approval mode", unconfined}},
		{"ready", "With `--input jsonl`: nothing is left to do. artoo waits for input.", bareEvent{}, []string{""}},
		{"accepted", "With `--input jsonl`: a message or a command has its place in the queue. Each is in one `turn_end`, as its `id` or in `joined`.", acceptedEvent{}, []string{"", "the line's own id, or a number that artoo gave it"}},
		{"text", "`text` and `reasoning`: a piece of the reply, or of what the model thought before it.", textEvent{}, []string{"or `reasoning`", "the piece"}},
		{"tool_input", "So much has come of the arguments of a call that the model is writing: at most four a second for each call, and the last.", inputEvent{}, []string{
			"", "`\"\"` while it is not known", "place among the calls of one reply, from 0", "bytes of arguments", subAgent, worksFor}},
		{"tool_call", "The model calls a tool.", callEvent{}, []string{"", "the call's id", "the tool's name", "`null` when the model wrote no JSON", theObject, "place among the calls of one reply, from 0", "how many calls the reply has", subAgent, worksFor}},
		{"question", "artoo asks. The answer is a line of the input.", agent.QuestionEvent{}, []string{
			"", "unique in the run; the answer names it", "one of the kinds below", "the question in a few words; parts of it are the model's or a server's", "those that count", "id of the call in question",
			"that call's tool", "its whole input, with marks in place of keys", theObject, "directory that commands start in", "true: it would run outside the sandbox", "why artoo asks",
			"the narrowest rule that would allow this call", "a wider rule", "the change in question, as a unified diff", "what a command changed on its layer, a row each", "the plan to approve, in Markdown",
			"answers to choose from", "what an MCP server asks: see `form`", subAgent}},
		{"form", "Not an event: the field `form` of a question.", agent.FormEvent{}, []string{"the MCP server", "the host or program that gets the values", "its words", "the address to open; then there is no form", "JSON Schema of the values, flat"}},
		{"approval", "A question was answered, or no one could answer it.", approvalEvent{}, []string{"", "the question's id", "the call's id", "the tool's name", theObject, "the answer, in the words of the question's `answers`",
			"true: no one could answer", "what the answer gave as its reason", "the narrowest rule that would allow the call", subAgent, "hook or program that answered; left out for the user"}},
		{"tool_output", "Live output of a running call, at most 30 KB a call.", outputEvent{}, []string{"", "the call's id", "the piece", subAgent}},
		{"tool_result", "A call has ended.", callResultEvent{}, []string{"", "the call's id", "the tool's name", "`ok`, `failed`, `denied`, `unanswered`, `interrupted`", "the result as the model gets it", "where all of it is when `text` was cut", "milliseconds it ran", subAgent}},
		{"retry", "A request failed and is sent again.", retryEvent{}, []string{"", "the number of the try that comes", "how many there are", "milliseconds until then",
			"so many of the last `text` and `reasoning` lines are void as soon as another `text` or a `usage` line comes; when all tries fail they are what there is", "why"}},
		{"notice", "Something to know. Kind `step`: a coding CLI did something, and the text before it was not the answer; `compacted`: a summary took the place of old messages; `model`: another model answers than the one that was asked, by its server or as a fallback; `command`: what a command of the input shows.", noticeEvent{}, []string{"", "`info`, `warning`, `cap`, `model`, …", "one sentence, or the lines that a command shows"}},
		{"usage", "A request to the model has ended.", usageEvent{}, []string{"", "see `request`"}},
		{"request", "Not an event: the field `request`, and an item of `requests`.", agent.RequestReport{}, []string{"the provider's id of the reply", "the model that answered", "see `tokens`", dollars, "milliseconds", "how often it was sent"}},
		{"tokens", "Not an event: the fields `usage`.", provider.Usage{}, []string{"not from the cache", "read from the cache", "written to the cache", "of the reply", "part of the output", "true: a part is no count of the provider's, as for replies that broke off", "what the provider says it charged; left out where it says nothing"}},
		{"turn_end", "With `--input jsonl`: a message or a command is done.", turnEndEvent{}, []string{"", "that of `accepted`", "ids of messages that reached the model in this turn, with `when` `now`", "the answer; with an error, as much of it as came; `\"\"` where nothing was sent; with `--schema` as in `result`",
			"who answered last; `\"\"` where nothing was sent", "the model that answered last",
			"as in `result`", "requests to the model", "see `tokens`", dollars, "`null`, or as in `result`; its `kind` may also be `interrupted` and `stopped`, which do not count for the exit code"}},
		{"input_error", "With `--input jsonl`: a line was not understood, or nothing could be done for it. Nothing is sent for it. The run ends with 2 if nothing worse happened.", inputErrorEvent{}, []string{"", "its number, from 1", "why"}},
		{"result", "The last line, at every exit once the flags are understood; `-o json` prints it alone. After `--input jsonl` it is about all turns, and `result` is the last answer.", result.Result{}, []string{
			"1; fields may be added within a version", "", "the answer; with an error, as much of it as came; with `--schema` the JSON value, or `null`", "what `--resume` takes; `\"\"` when the run did not get that far", "who answered", "the model that answered", "`complete`, `tool_use`, `max_tokens`, `refusal`, …; `\"\"` when no reply ended",
			"requests to the model", "sum over the requests, see `tokens`", dollars, "milliseconds of the run", "calls that were refused, see `denied`", "questions that hooks or a program answered, see `answered`; left out where there is none",
			"commands that still ran in the background, and were ended with the run; left out where there is none",
			confines, unconfined, "`none`, `read`, `file` (it was long), `skipped` (nothing came in time)", "see [exit codes](headless.md#exit-codes); 128 and the signal's number when one ended the run", "one each, see `request`", "the file of changes that did not land ([`--until`](effects.md)); left out where there is none", "`null`, or see `error`"}},
		{"denied", "Not an event: an item of `denied`.", agent.Denial{}, []string{"the tool's name", theObject, "why", "the rule that would have allowed it; `\"\"` where none can", "true: only because no one could answer", "the reason that decided: `own-programs` is what `artoo trust --run` allows; left out where there is none",
			"of a command that ran on a layer, what it did that does not count: rows such as `deleted: old.txt`, what matters most first, more than 60 names by directory"}},
		{"answered", "Not an event: an item of `answered`.", agent.HookAnswer{}, []string{"the tool's name", theObject, "the answer", "its reason", "the hook or the program"}},
		{"error", "Not an event: the field `error`.", result.Error{}, []string{"see [exit codes](headless.md#exit-codes), or `signal`", "the failure in a line", "what to do; `\"\"` for nothing"}},
		{"review", "What `artoo review -o json` prints, alone and at every exit.", ReviewResult{}, []string{
			"1; fields may be added within a version", "", "see `finding`", "so many files were looked at", "files of the change that were not, see `skipped`", "who answered", "the model that answered", "requests to the model", "sum over the requests, see `tokens`",
			dollars, "milliseconds of the run", "see [exit codes](headless.md#exit-codes); 128 and the signal's number when one ended the run", "`null`, or see `error`"}},
		{"finding", "Not an event: an item of `findings`.", agent.Finding{}, []string{"from the top of the repository, with slashes", "from 1, in the file as the change leaves it", "the last line", "the first that is not blank, from 1", "behind the last character of `end_line`",
			"`error`, `warning`, `note`", "small letters, digits and hyphens", "one line"}},
		{"skipped", "Not an event: an item of `skipped`.", agent.Unreviewed{}, []string{"from the top of the repository, with slashes", "why it was not looked at"}},
	}
}

// Descriptions that several objects share.
const (
	subAgent   = "sub-agent whose call it is; left out otherwise"
	worksFor   = "id of the call that the sub-agent works for; left out otherwise"
	theObject  = "the command, path or address"
	dollars    = "US dollars; `null` when a price is not known"
	confines   = "what confines commands: `namespaces`, `landlock`, `sandbox-exec` or `none`"
	unconfined = "why nothing confines commands; left out where something does, and where the run ended before artoo looked"
)

func inputs() []object {
	id := "named by `accepted` and `turn_end`; without one artoo gives it a number"
	return []object{
		{"user", "A message to the model. `/`, `!`, `#` and `@` mean nothing in it.", userInput{}, []string{"", "what is said", id, "files of the project that come along, under the rules of `@FILE`",
			"`next` (the default): after all that waits; `now`: at the next step of the turn that runs, or else as the next message"}},
		{"answer", "The answer to a question that waits. One that comes when its question is over counts for nothing.", answerInput{}, []string{"", "the question's id", "one of the question's `answers`", "goes to the model with `no`",
			"with `session` and `forever`: the rule that holds; without it the question's `rule`", "answers `choice` and `compact`", "of an `approval` the edited input, of a `form` the values"}},
		{"interrupt", "Ends the turn that runs. What waits is done then.", bareInput{}, []string{""}},
		{"set", "Holds for what follows in the queue.", setInput{}, []string{"", "approval mode: `ask`, `edits`, `auto`, `plan`", "a model, or PROVIDER/MODEL", "`off`, `low`, `medium`, `high`, `max`"}},
		{"command", "A slash command, a skill or a command of the user's; it waits in the queue.", commandInput{}, []string{"", "the line, with its slash", id}},
		{"end", "Ends the input, as the end of the stream does: what waits is done as in a headless run.", bareInput{}, []string{""}},
	}
}

// kinds are the meanings of the kinds of question, and of their answers.
var kinds = map[agent.QuestionKind]string{
	agent.QuestionApproval: "May the call run? `session` and `forever` add the rule, and are missing where there is none; `stop` is no, and ends the turn",
	agent.QuestionSteps:    "The turn's steps are used up. Does it go on?",
	agent.QuestionChanges:  "A command ran on a layer. Do its changes land?",
	agent.QuestionOutside:  "The sandbox denied the command something. Does it run once more, outside?",
	agent.QuestionWhole:    "A background command may not write something. Does it start again, with the whole project writable?",
	agent.QuestionPlan:     "Is the plan approved? `session` sets the mode `edits` as well",
	agent.QuestionMemory:   "Is the line added to the project's memory?",
	agent.QuestionChoice:   "The model asks. `yes` with `text` answers it",
	agent.QuestionForm:     "An MCP server asks for values or shows an address. `yes` with `input` answers it; `no` declines, `cancel` ends it without an answer",
	agent.QuestionCompact:  "The history is too long. `yes` with `text`, one of `choices`, decides; `no` leaves out the oldest",
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

// rows is an object as a table. Each field of the struct has a meaning, and no meaning is without a field.
func (o object) rows(t *testing.T, b *strings.Builder) {
	t.Helper()
	fmt.Fprintf(b, "\n### %s\n\n%s\n", o.name, o.about)
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeOf(o.value)), func(f reflect.StructField) bool { return f.Anonymous })
	if len(fields) != len(o.fields) {
		t.Fatalf("%s has %d fields, and %d have a meaning", o.name, len(fields), len(o.fields))
	}
	if len(fields) == 1 && o.fields[0] == "" {
		return
	}
	b.WriteString("\n| field | |\n|---|---|\n")
	for i, f := range fields {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		meaning := o.fields[i]
		switch {
		case name == "type" && meaning == "":
			meaning = "`" + o.name + "`"
		case name == "type":
			meaning = "`" + o.name + "` " + meaning
		case meaning == "":
			t.Errorf("%s.%s has no meaning", o.name, name)
		}
		if option == "omitempty" && !strings.Contains(meaning, "left out") && !isInput(o) && o.name != "question" && o.name != "form" {
			meaning += "; left out where there is none"
		}
		fmt.Fprintf(b, "| `%s` | %s |\n", name, meaning)
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
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind, strings.Join(answers, ", "), kinds[kind])
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

What ` + "`-o jsonl`" + ` writes and ` + "`--input jsonl`" + ` reads: one JSON object a line. [Without a conversation](headless.md#a-program-in-place-of-the-user) shows them
at work. Types and fields may be added within a version: skip those you do not know. Characters that a terminal obeys or hides are
written as ` + "`\\u`" + ` escapes.

A sub-agent's text and reasoning are not reported; the ` + "`usage`" + ` of its requests comes with the result of the call that it works for.

## Output
`

const inputHead = `
## Input

Lines of up to 32 MiB. An unknown field is an error, as an unknown type is: what a program writes is meant to count. Lines are taken in their order;
` + "`user`, `set` and `command`" + ` wait in one queue, the others count at once.
`

const kindsHead = `
## Questions

A question is the same object, with the same answers, for a program that reads events, for ` + "`ARTOO_ASK_PROGRAM`" + ` and for people. An answer
is one of the words in the table; anything else decides nothing. A question about a definition that an MCP server changed has no ` + "`session` and no `forever`" + `.

| kind | answers | |
|---|---|---|
`
