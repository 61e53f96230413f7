package fairness

import (
	"strings"
	"sync/atomic"
)

const (
	// MostNames is the number of tenants whose keys a table can keep.
	MostNames = 10
	// nameLength is how many bytes of a key are kept: a table has less than 64 KB.
	nameLength = 48
)

// names has the keys of the tenants that a caller of Keep has named. Those of others are not kept.
type names struct {
	list atomic.Pointer[[]name] // nil before Keep
}

type name struct {
	id  uint32
	key atomic.Pointer[string] // nil before the next call of the tenant
}

// Keep keeps the keys of up to MostNames tenants, from the next call of each on, and forgets all others.
func (t *Table) Keep(tenants []Tenant) {
	list := make([]name, min(len(tenants), MostNames))
	for i := range list {
		list[i].id = tenants[i].ID
		if old := t.names.of(list[i].id); old != nil {
			list[i].key.Store(old.key.Load())
		}
	}
	t.names.list.Store(&list)
}

// Key returns the key of a tenant, or "" if it is not kept.
func (t *Table) Key(id uint32) string {
	if n := t.names.of(id); n != nil {
		if key := n.key.Load(); key != nil {
			return *key
		}
	}
	return ""
}

func (n *names) of(id uint32) *name {
	list := n.list.Load()
	if list == nil {
		return nil
	}
	for i := range *list {
		if (*list)[i].id == id {
			return &(*list)[i]
		}
	}
	return nil
}

func (n *names) wanted() bool { return n.list.Load() != nil }

// note keeps the key of a call, if its tenant is looked at.
func (n *names) note(hash uint64, key string) {
	if of := n.of(idOf(hash)); of != nil && of.key.Load() == nil {
		kept := strings.Clone(key[:min(len(key), nameLength)])
		if len(key) > nameLength {
			kept = strings.ToValidUTF8(kept, "") + "…"
		}
		of.key.Store(&kept)
	}
}
