// What programs ask of JavaScript that Go compiled for it: files, goroutines that sleep, calls in both directions. The
// same lines are written under Node and under fuzzbox. What the input begins with says how it ends.
package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall/js"
	"time"
)

func main() {
	fmt.Println("args", len(os.Args), os.Args[1:])
	in, err := io.ReadAll(bufio.NewReader(os.Stdin))
	fmt.Println("stdin", len(in), err)
	if strings.HasPrefix(string(in), "bug") {
		panic("magic " + string(in))
	}
	if strings.HasPrefix(string(in), "dead") {
		select {}
	}
	if strings.HasPrefix(string(in), "exit") {
		os.Exit(len(in))
	}
	if strings.HasPrefix(string(in), "throw") {
		js.Global().Call("noSuch", 1)
	}
	if strings.HasPrefix(string(in), "nil") {
		var m map[string]int
		m["a"] = 1
	}
	_, err = os.Stat("missing/file")
	fmt.Println("stat", err, errors.Is(err, fs.ErrNotExist))
	if len(os.Args) > 1 {
		b, err := os.ReadFile(os.Args[1])
		fmt.Println("file", len(b), err, strings.ToUpper(string(b)))
	}
	dir, err := os.MkdirTemp(".", "gotest")
	fmt.Println("mkdir", err, dir != "")
	p := filepath.Join(dir, "x.txt")
	fmt.Println("write", os.WriteFile(p, []byte("hello\nworld\n"), 0o644))
	f, err := os.OpenFile(p, os.O_RDWR|os.O_APPEND, 0)
	fmt.Println("open", err)
	fmt.Fprintf(f, "more %d\n", 42)
	off, err := f.Seek(6, io.SeekStart)
	rest, err2 := io.ReadAll(f)
	fmt.Println("seek", off, err, string(rest), err2)
	st, err := f.Stat()
	fmt.Println("fstat", st.Size(), st.Mode().IsRegular(), st.IsDir(), err)
	fmt.Println("trunc", f.Truncate(3), f.Close())
	fmt.Println("rename", os.Rename(p, p+"2"))
	fmt.Println("link", os.Symlink("x.txt2", filepath.Join(dir, "l")))
	t, err := os.Readlink(filepath.Join(dir, "l"))
	fmt.Println("readlink", t, err)
	es, err := os.ReadDir(dir)
	for _, e := range es {
		fmt.Println("entry", e.Name(), e.IsDir(), e.Type()&fs.ModeSymlink != 0)
	}
	b, err := os.ReadFile(filepath.Join(dir, "l"))
	fmt.Println("through link", string(b), err)
	fmt.Println("rmdir", errors.Is(os.Remove(dir), fs.ErrNotExist))
	fmt.Println("chtimes", os.Chtimes(p+"2", time.Unix(1000, 0), time.Unix(2000, 5e6)))
	st, _ = os.Stat(p + "2")
	fmt.Println("mtime", st.ModTime().UnixMilli())
	fmt.Println("mkdirall", os.MkdirAll(filepath.Join(dir, "a/b/c"), 0o755))
	_, err = os.ReadFile(filepath.Join(dir, "a"))
	fmt.Println("read dir", err != nil, strings.Contains(err.Error(), "is a directory"))
	_, err = os.Create(filepath.Join(dir, "x.txt2/y"))
	fmt.Println("notdir", strings.Contains(err.Error(), "not a directory"))
	fmt.Println("removeall", os.RemoveAll(dir))
	var wg sync.WaitGroup
	var mu sync.Mutex
	m := map[string]int{}
	for i := 0; i < 10; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			time.Sleep(time.Duration(10-i) * 3 * time.Millisecond)
			mu.Lock()
			m[fmt.Sprint("k", i%3)] += i
			mu.Unlock()
		}(i)
	}
	wg.Wait()
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Println(k, m[k])
	}
	r := make([]byte, 16)
	n, err := rand.Read(r)
	fmt.Println("rand", n, err)
	select {
	case <-time.After(50 * time.Millisecond):
		fmt.Println("timeout")
	case <-make(chan int):
	}
	tk := time.NewTicker(10 * time.Millisecond)
	for i := 0; i < 3; i++ {
		<-tk.C
		fmt.Println("tick", i)
	}
	tk.Stop()
	start := time.Now()
	time.Sleep(20 * time.Millisecond)
	d := time.Since(start)
	fmt.Println("slept enough", d >= 20*time.Millisecond, d < 2*time.Second)
	// JavaScript
	add := js.FuncOf(func(this js.Value, args []js.Value) any { return args[0].Int() + args[1].Int() })
	js.Global().Set("add", add)
	fmt.Println("nested", js.Global().Call("add", 3, 4).Int(), add.Invoke(5, 6).Int())
	add.Release()
	a := js.ValueOf([]any{1, "two", nil, true, map[string]any{"x": 1.5}})
	fmt.Println(a.Length(), a.Index(1).String(), a.Index(2).IsNull(), a.Index(3).Bool(), a.Index(4).Get("x").Float(), a.String())
	fmt.Println(a.InstanceOf(js.Global().Get("Array")), a.Type(), js.Global().Get("nope").IsUndefined(), js.Global().Get("Date").Type())
	func() {
		defer func() {
			r := recover()
			_, ok := r.(js.Error)
			fmt.Println("caught", ok)
		}()
		js.Global().Get("Array").New(-1)
	}()
	u := js.Global().Get("Uint8Array").New(4)
	fmt.Println(js.CopyBytesToJS(u, []byte{1, 2, 3, 4, 5}), u.Index(3).Int(), u.Length())
	done := make(chan int)
	js.Global().Call("setTimeout", js.FuncOf(func(this js.Value, args []js.Value) any { close(done); return nil }), 5)
	<-done
	fmt.Println("setTimeout")
	wd, err := os.Getwd()
	fmt.Println("cwd", wd != "", err)
	sum := 0
	for i := 0; i < 300; i++ {
		x := js.Global().Get("Object").New()
		x.Set("i", i)
		sum += x.Get("i").Int()
	}
	fmt.Println(sum, len(os.Getenv("HOME")) >= 0, os.Getpid() > 0)
	os.Stderr.WriteString("to stderr\n")
}
