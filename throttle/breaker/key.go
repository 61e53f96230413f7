package breaker

import (
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"strconv"

	"github.com/spillway-go/spillway/throttle/breaker/store"
	"github.com/spillway-go/spillway/throttle/internal/check"
)

// Key identifies a circuit: an endpoint, and the tenant that it belongs to, which may be empty.
// Both may hold any bytes and have any length.
type Key struct {
	Tenant string
	ID     string
}

// String returns the key in quotes, so that different keys have different texts.
func (k Key) String() string {
	if k.Tenant == "" {
		return strconv.Quote(k.ID)
	}
	return strconv.Quote(k.Tenant) + "/" + strconv.Quote(k.ID)
}

// LogValue returns the tenant, if any, and the ID as a group.
func (k Key) LogValue() slog.Value {
	if k.Tenant == "" {
		return slog.GroupValue(check.Attr("id", k.ID))
	}
	return slog.GroupValue(check.Attr("tenant", k.Tenant), check.Attr("id", k.ID))
}

// shownKey returns the key for the text of an error. A long key is cut.
func shownKey(k Key) string {
	if k.Tenant == "" {
		return check.Shown(k.ID)
	}
	return check.Shown(k.Tenant) + "/" + check.Shown(k.ID)
}

// RecordID returns the ID of the key's record in a store. The hash includes the length of the
// tenant, so that no two keys share a record.
func (k Key) RecordID() store.RecordID {
	h := sha256.New()
	var length [binary.MaxVarintLen64]byte
	h.Write(length[:binary.PutUvarint(length[:], uint64(len(k.Tenant)))])
	h.Write([]byte(k.Tenant))
	h.Write([]byte(k.ID))
	var id store.RecordID
	h.Sum(id[:0])
	return id
}
