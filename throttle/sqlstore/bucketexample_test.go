package sqlstore_test

import (
	"fmt"

	"github.com/spillway-go/spillway/throttle/sqlstore"
)

// Print what a migration has to create for buckets.
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
	// 	keep_ns BIGINT NOT NULL,
	// 	PRIMARY KEY (name, id)
	// ) ENGINE=InnoDB
}
