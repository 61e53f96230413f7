package breaker

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Key says which circuit: an endpoint, and the tenant that it belongs to, which may be empty. Both are any bytes, of any length:
// nothing parses, cuts or joins them.
type Key struct {
	Tenant string
	ID     string
}

// String returns the key for a person to read: quoted, so that no two keys look the same.
func (k Key) String() string {
	if k.Tenant == "" {
		return strconv.Quote(k.ID)
	}
	return strconv.Quote(k.Tenant) + "/" + strconv.Quote(k.ID)
}

// RecordID names a record in a store: 32 bytes for every key, however long, so that a key fits into any column and index.
type RecordID [sha256.Size]byte

// RecordID returns the name of the key's record. The length of the tenant is part of what is hashed: two keys that read the same
// end to end are two records.
func (k Key) RecordID() RecordID {
	h := sha256.New()
	var length [binary.MaxVarintLen64]byte
	h.Write(length[:binary.PutUvarint(length[:], uint64(len(k.Tenant)))])
	h.Write([]byte(k.Tenant))
	h.Write([]byte(k.ID))
	var id RecordID
	h.Sum(id[:0])
	return id
}

// Shard returns in which of the [NumShards] shards the record lies.
func (id RecordID) Shard() int {
	return int(binary.BigEndian.Uint16(id[:]) % NumShards)
}
