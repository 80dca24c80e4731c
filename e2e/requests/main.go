// Command requests prints what client-go sends for each call that our `Api` and lister-watcher have: a JSON array of
// requests by name, recorded by a server of its own that answers nothing of use.
//
// crates/informer-client/tests/recorded/requests.json is its output; `cargo xtask recorded-requests` renews it.
package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// request is one request as it was received.
type request struct {
	Call        string              `json:"call"`
	Method      string              `json:"method"`
	Path        string              `json:"path"`
	Query       map[string][]string `json:"query"`
	Accept      string              `json:"accept"`
	ContentType string              `json:"contentType,omitempty"`
	Body        json.RawMessage     `json:"body,omitempty"`
}

// recorder is the server. It keeps the last request.
type recorder struct {
	mutex sync.Mutex
	last  *request
}

func (r *recorder) ServeHTTP(answer http.ResponseWriter, received *http.Request) {
	body, err := io.ReadAll(received.Body)
	must(err)
	recorded := request{
		Method:      received.Method,
		Path:        received.URL.EscapedPath(),
		Query:       received.URL.Query(),
		Accept:      received.Header.Get("Accept"),
		ContentType: received.Header.Get("Content-Type"),
	}
	if len(body) > 0 {
		recorded.Body = body
	}
	r.mutex.Lock()
	r.last = &recorded
	r.mutex.Unlock()
	answer.Header().Set("Content-Type", "application/json")
	_, _ = answer.Write([]byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`))
}

func (r *recorder) take() *request {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	last := r.last
	r.last = nil
	return last
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	recorder := &recorder{}
	server := httptest.NewServer(recorder)
	defer server.Close()
	clients, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL,
		QPS:  -1,
		// The default of typed clients is protobuf, whose bodies cannot be compared with ours.
		ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	})
	must(err)
	var table []*request
	for _, call := range calls(clients) {
		// The answer is an error to most calls; the request is what counts.
		call.send(context.Background())
		recorded := recorder.take()
		if recorded == nil {
			panic("no request for " + call.name)
		}
		recorded.Call = call.name
		table = append(table, recorded)
	}
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	output.SetIndent("", "  ")
	must(output.Encode(table))
}
