package page

import "testing"

func TestOurHosts(t *testing.T) {
	for _, tt := range []struct {
		host, listen string
		want         bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"192.0.2.7:8080", "0.0.0.0:8080", true},
		{"[::1]:8080", "", true},
		{"[::1]", "", true},
		{"localhost:8080", "127.0.0.1:0", true},
		{"shop.localhost", "127.0.0.1:0", true},
		{"storefront:8080", "0.0.0.0:8080", true},
		{"SHOP.example.com", "shop.example.com:8080", true},
		{"evil.example:8080", "127.0.0.1:8080", false},
		{"evil.example", "", false},
		{"evil.example", "0.0.0.0:8080", false},
		{"127.0.0.1.evil.example", "127.0.0.1:8080", false},
		{"localhost.evil.example", "localhost:8080", false},
		{"evillocalhost.example", "localhost:8080", false},
		{"", "", false},
		{":8080", ":8080", false},
	} {
		if got := isOurs(tt.host, tt.listen); got != tt.want {
			t.Errorf("host %q, listening on %q: got %v want %v", tt.host, tt.listen, got, tt.want)
		}
	}
}
