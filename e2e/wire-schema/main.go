// wire-schema prints, as JSON, how each built-in Kubernetes kind lies in protobuf and what its fields are called in
// JSON. It reads the struct tags of the public Go types by reflection. `cargo xtask wire-table` runs it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// Schema is what is printed.
type Schema struct {
	// Version is the version of k8s.io/api.
	Version string `json:"version"`
	// Kinds maps "apiVersion/Kind" to the name of a message.
	Kinds map[string]string `json:"kinds"`
	// Messages maps the name of a message to its fields.
	Messages map[string][]Field `json:"messages"`
	// Special lists the messages that are written to JSON by code of their own.
	Special []string `json:"special"`
}

// Field is one field of a message.
type Field struct {
	// No is the field's number in protobuf.
	No int `json:"no"`
	// JSON is the field's key; empty with Inline.
	JSON string `json:"json,omitempty"`
	// Inline says that the message has no key of its own in JSON: its fields stand among those of its parent.
	Inline bool `json:"inline,omitempty"`
	// Type is string, bytes, bool, int32, int64, uint32, uint64, float64 or message.
	Type string `json:"type"`
	// Ref is the name of the message.
	Ref string `json:"ref,omitempty"`
	// Repeated says that the field is a list.
	Repeated bool `json:"repeated,omitempty"`
	// Map says that the field is a map from strings to Type.
	Map bool `json:"map,omitempty"`
	// OmitEmpty says that JSON leaves out an empty scalar, list or map.
	OmitEmpty bool `json:"omitempty,omitempty"`
	// OmitZero says that JSON leaves out a zero message too.
	OmitZero bool `json:"omitzero,omitempty"`
	// Pointer says that absent and zero differ.
	Pointer bool `json:"pointer,omitempty"`
}

// The types that write JSON by themselves. What is none of them and does so too is refused, see walk.
var special = []string{"FieldsV1", "IntOrString", "MicroTime", "Quantity", "RawExtension", "Time"}

var marshaler = reflect.TypeFor[json.Marshaler]()

func main() {
	schema := Schema{Version: version(), Kinds: map[string]string{}, Messages: map[string][]Field{}, Special: []string{}}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		isObject := t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/api/")
		if isObject && !strings.HasSuffix(kind.Kind, "Options") && kind.Version != "__internal" {
			schema.add(kind.GroupVersion().String()+"/"+kind.Kind, t)
		}
	}
	schema.add("meta.k8s.io/v1/PartialObjectMetadata", reflect.TypeFor[metav1.PartialObjectMetadata]())
	schema.add("meta.k8s.io/v1/PartialObjectMetadataList", reflect.TypeFor[metav1.PartialObjectMetadataList]())
	schema.add("v1/DeleteOptions", reflect.TypeFor[metav1.DeleteOptions]())
	schema.add("v1/Status", reflect.TypeFor[metav1.Status]())
	slices.Sort(schema.Special)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(schema); err != nil {
		fail("writing the schema: %v", err)
	}
	fmt.Fprintf(os.Stderr, "k8s.io/api %s: %d kinds, %d messages\n", schema.Version, len(schema.Kinds), len(schema.Messages))
}

// version is the version of k8s.io/api that this program was built with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fail("this program was built without module information")
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/api" {
			return module.Version
		}
	}
	fail("this program was built without k8s.io/api")
	return ""
}

func (s *Schema) add(kind string, t reflect.Type) {
	s.walk(t)
	s.Kinds[kind] = name(t)
}

// walk describes a message and all that it refers to.
func (s *Schema) walk(t reflect.Type) {
	n := name(t)
	if _, seen := s.Messages[n]; seen || slices.Contains(s.Special, n) {
		return
	}
	if slices.Contains(special, t.Name()) {
		s.Special = append(s.Special, n)
		return
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		fail("%s writes JSON by itself: say here and in the decoder how", n)
	}
	s.Messages[n] = nil
	fields := []Field{}
	for i := range t.NumField() {
		if field, ok := s.field(n, t.Field(i)); ok {
			fields = append(fields, field)
		}
	}
	s.Messages[n] = fields
}

func (s *Schema) field(message string, f reflect.StructField) (Field, bool) {
	tag := f.Tag.Get("protobuf")
	if tag == "" || tag == "-" {
		return Field{}, false
	}
	no, err := strconv.Atoi(strings.Split(tag, ",")[1])
	if err != nil {
		fail("%s.%s: %s: %v", message, f.Name, tag, err)
	}
	key := strings.Split(f.Tag.Get("json"), ",")
	out := Field{
		No:        no,
		JSON:      key[0],
		Inline:    slices.Contains(key[1:], "inline") || (f.Anonymous && key[0] == ""),
		OmitEmpty: slices.Contains(key[1:], "omitempty"),
		OmitZero:  slices.Contains(key[1:], "omitzero"),
	}
	t := f.Type
	if t.Kind() == reflect.Pointer {
		out.Pointer, t = true, t.Elem()
	}
	// A slice type with a name is a message of its own; one without is a repeated field.
	switch {
	case t.Kind() == reflect.Slice && t.Name() == "" && t.Elem().Kind() != reflect.Uint8:
		out.Repeated, t = true, t.Elem()
	case t.Kind() == reflect.Map:
		out.Map, t = true, t.Elem()
	}
	s.value(&out, t)
	return out, true
}

// value says what type a field, or each element of it, has.
func (s *Schema) value(out *Field, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if scalar := scalar(t); scalar != "" {
		out.Type = scalar
		return
	}
	out.Type, out.Ref = "message", name(t)
	switch t.Kind() {
	case reflect.Slice:
		// It lies in protobuf as a message with one repeated field.
		if _, seen := s.Messages[out.Ref]; !seen {
			inner := Field{No: 1, Inline: true, Repeated: true}
			s.Messages[out.Ref] = nil
			s.value(&inner, t.Elem())
			s.Messages[out.Ref] = []Field{inner}
		}
	case reflect.Struct:
		s.walk(t)
	default:
		fail("%s is of a kind that has no place in protobuf", t)
	}
}

func scalar(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32, reflect.Int16, reflect.Int8:
		return "int32"
	case reflect.Int64, reflect.Int:
		return "int64"
	case reflect.Uint32, reflect.Uint16, reflect.Uint8:
		return "uint32"
	case reflect.Uint64, reflect.Uint:
		return "uint64"
	case reflect.Float64:
		return "float64"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
	}
	return ""
}

func name(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "wire-schema: "+format+"\n", args...)
	os.Exit(1)
}
