package sqlstore_test

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// Print a statement for a migration.
func ExampleBreakerSchema() {
	statements, err := sqlstore.BreakerSchema(sqlstore.PostgreSQL, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(statements[1])
	// Output:
	// CREATE TABLE IF NOT EXISTS "spillway_breaker_shard" (
	// 	name bytea NOT NULL,
	// 	shard INTEGER NOT NULL,
	// 	epoch BIGINT NOT NULL,
	// 	number BIGINT NOT NULL,
	// 	term BIGINT NOT NULL,
	// 	PRIMARY KEY (name, shard)
	// ) WITH (fillfactor = 50)
}

// Print the statement for a migration of buckets.
func ExampleBucketSchema() {
	statements, err := sqlstore.BucketSchema(sqlstore.MySQL, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(statements[0])
	// Output:
	// CREATE TABLE IF NOT EXISTS `spillway_bucket` (
	// 	name VARBINARY(255) NOT NULL,
	// 	id VARBINARY(192) NOT NULL,
	// 	at_ns BIGINT NOT NULL,
	// 	used BIGINT NOT NULL,
	// 	interval_ns BIGINT NOT NULL,
	// 	period_ns BIGINT NOT NULL,
	// 	capacity BIGINT NOT NULL,
	// 	until_ns BIGINT NOT NULL,
	// 	other VARCHAR(120) NOT NULL DEFAULT '',
	// 	PRIMARY KEY (name, id)
	// ) ENGINE=InnoDB
}
