package inorder

import "testing"

func TestFunctionsAreCalledInOrderAndNilStaysNil(t *testing.T) {
	told := ""
	say := func(word string) func(string) { return func(s string) { told += word + s } }
	say2 := func(word string) func(string, int) { return func(s string, _ int) { told += word + s } }
	One(One(nil, say("a")), One(say("b"), nil))("1")
	Two(Two(nil, say2("c")), Two(say2("d"), nil))("2", 0)
	if told != "a1b1c2d2" {
		t.Errorf("told %q", told)
	}
	if One[int](nil, nil) != nil || Two[int, int](nil, nil) != nil {
		t.Error("two nil functions are joined to one that is not")
	}
}
