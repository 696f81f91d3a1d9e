;; draws
(module
  (import "fuzzbox_v1" "draw_bool" (func $draw_bool (param i32) (result i32)))
  (import "fuzzbox_v1" "assume" (func $assume (param i32)))
  (memory 1)
  (func (export "fbx_tree") (call $tree))
  (func $tree
    (block $done
      (loop $again
        (br_if $done (i32.eqz (call $draw_bool (i32.const 0x40000000))))
        (call $tree)
        (br $again)))
    (call $assume (i32.const 1))))
