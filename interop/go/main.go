// A client of the Go SDK, which does what the lines of stdin say, one after the other, and prints a line of JSON for each.
//
//	{"connect": {"command", "args", "env"} | {"url", "token"}}     ->  {"server", "revision", "tools"} | {"error"}
//	{"call": {"name", "arguments", "timeoutMs"?}}                  ->  {"result", "progress"} | {"error", "progress"}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type address struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	Token   string
}

type call struct {
	Name      string
	Arguments map[string]any
	TimeoutMs int
}

type step struct {
	Connect *address
	Call    *call
}

type failure struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

type seen struct {
	Server   *mcp.Implementation               `json:"server,omitempty"`
	Revision string                            `json:"revision,omitempty"`
	Tools    []string                          `json:"tools,omitempty"`
	Result   *mcp.CallToolResult               `json:"result,omitempty"`
	Progress []*mcp.ProgressNotificationParams `json:"progress,omitempty"`
	Error    *failure                          `json:"error,omitempty"`
}

var (
	session  *mcp.ClientSession
	lock     sync.Mutex
	progress []*mcp.ProgressNotificationParams
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var next step
		check(json.Unmarshal(lines.Bytes(), &next))
		var found seen
		if next.Connect != nil {
			found = connect(next.Connect)
		} else {
			found = callTool(next.Call)
		}
		check(json.NewEncoder(os.Stdout).Encode(found))
	}
	if session != nil {
		session.Close()
	}
}

func connect(to *address) seen {
	if session != nil {
		session.Close()
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			lock.Lock()
			defer lock.Unlock()
			progress = append(progress, request.Params)
		},
	})
	var err error
	if session, err = client.Connect(context.Background(), toTransport(to), nil); err != nil {
		return seen{Error: toFailure(err)}
	}
	listed, err := session.ListTools(context.Background(), nil)
	if err != nil {
		return seen{Error: toFailure(err)}
	}
	found := seen{Server: session.InitializeResult().ServerInfo, Revision: session.InitializeResult().ProtocolVersion}
	for _, tool := range listed.Tools {
		found.Tools = append(found.Tools, tool.Name)
	}
	return found
}

func toTransport(to *address) mcp.Transport {
	if to.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: to.URL, HTTPClient: &http.Client{Transport: withToken(to.Token)}}
	}
	command := exec.Command(to.Command, to.Args...)
	command.Stderr = os.Stderr
	command.Env = os.Environ()
	for name, value := range to.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	return &mcp.CommandTransport{Command: command}
}

type withToken string

func (token withToken) RoundTrip(request *http.Request) (*http.Response, error) {
	authorized := request.Clone(request.Context())
	authorized.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(authorized)
}

func callTool(asked *call) seen {
	ctx := context.Background()
	if asked.TimeoutMs > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(asked.TimeoutMs)*time.Millisecond)
		defer cancel()
	}
	lock.Lock()
	progress = nil
	lock.Unlock()
	params := &mcp.CallToolParams{Name: asked.Name, Arguments: asked.Arguments}
	params.SetProgressToken("progress")
	result, err := session.CallTool(ctx, params)
	lock.Lock()
	defer lock.Unlock()
	if err != nil {
		return seen{Error: toFailure(err), Progress: progress}
	}
	return seen{Result: result, Progress: progress}
}

func toFailure(err error) *failure {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return &failure{Code: wire.Code, Message: wire.Message}
	}
	return &failure{Message: err.Error()}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
