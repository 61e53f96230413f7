// Package retries tests clients that retry, over HTTP and gRPC, while the process of their backend is
// killed and comes back, and while a control file stops the retries. The package has only tests.
package retries
