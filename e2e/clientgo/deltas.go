package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/tools/cache"
)

// thing is an object with a name and a value.
type thing struct{ name, value string }

func nameOf(object any) (string, error) { return object.(thing).name, nil }

// deltas reads lines of calls and answers each with what a queue hands out for them: for each drain, separated by
// " | ", the keys with their deltas, separated by "; ", and whether it is synced. The queue is a DeltaFIFO, or a RealFIFO
// if the order over all keys is to be kept.
//
//	a NAME=VALUE   add          u NAME=VALUE  update      d NAME=VALUE  delete
//	r NAME=VALUE…  replace      s             resync      p             drain
func deltas(inOrder bool) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		fmt.Fprintln(out, strings.Join(perform(inOrder, strings.Split(lines.Text(), ";")), " | "))
	}
	must(lines.Err())
}

func emptyQueue(inOrder bool, store cache.Store) cache.Queue {
	if inOrder {
		return cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
			KeyFunction:  nameOf,
			KnownObjects: store,
		})
	}
	return cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
		KeyFunction:           nameOf,
		KnownObjects:          store,
		EmitDeltaTypeReplaced: true,
	})
}

func perform(inOrder bool, calls []string) []string {
	store := cache.NewStore(nameOf)
	fifo := emptyQueue(inOrder, store)
	// Closed, it takes in all the same, and says when it is empty instead of waiting.
	fifo.Close()
	var drained []string
	for _, call := range calls {
		words := strings.Fields(call)
		var things []any
		for _, word := range words[1:] {
			name, value, _ := strings.Cut(word, "=")
			things = append(things, thing{name, value})
		}
		switch words[0] {
		case "a":
			must(fifo.Add(things[0]))
		case "u":
			must(fifo.Update(things[0]))
		case "d":
			must(fifo.Delete(things[0]))
		case "r":
			must(fifo.Replace(things, "1"))
		case "s":
			must(fifo.Resync())
		case "p":
			drained = append(drained, drain(fifo, store))
		}
	}
	return drained
}

func drain(fifo cache.Queue, store cache.Store) string {
	var keys []string
	for {
		_, err := fifo.Pop(func(popped any, _ bool) error {
			var told []string
			name := ""
			for _, delta := range popped.(cache.Deltas) {
				object, mark := delta.Object, ""
				if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object, mark = tombstone.Obj, "?"
				}
				name = object.(thing).name
				told = append(told, fmt.Sprintf("%s%s %s", delta.Type, mark, object.(thing).value))
				if delta.Type == cache.Deleted {
					must(store.Delete(object))
				} else {
					must(store.Update(object))
				}
			}
			keys = append(keys, name+": "+strings.Join(told, ", "))
			return nil
		})
		if errors.Is(err, cache.ErrFIFOClosed) {
			break
		}
		must(err)
	}
	return fmt.Sprintf("%s; synced %t", strings.Join(keys, "; "), fifo.HasSynced())
}
