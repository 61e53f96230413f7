package recipes

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/spillway-go/spillway/throttle"
	"github.com/spillway-go/spillway/throttle/httpthrottle"
)

// retryableClient retries around the transport, so each attempt passes the throttle.
func retryableClient(transport *httpthrottle.Transport) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: transport}
	client.CheckRetry = func(ctx context.Context, response *http.Response, err error) (bool, error) {
		if errors.Is(err, throttle.ErrShed) {
			return false, err // nothing was sent, and a retry adds the load that was shed
		}
		return retryablehttp.DefaultRetryPolicy(ctx, response, err)
	}
	return client // StandardClient returns it as an *http.Client
}

// full is a backend that rejects every request.
type full struct{}

func (full) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r}, nil
}

// TestRetryableHTTP_DoesNotRetryAShedRequest calls a client until a request has been shed 20 times.
func TestRetryableHTTP_DoesNotRetryAShedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it waits a second and more before a retry
		transport := throttle.Must(httpthrottle.NewTransport(full{}, httpthrottle.TransportConfig{Throttle: decided("backends")}))
		defer transport.Close()
		client, attempts := retryableClient(transport), uint64(0)
		client.Logger = nil
		client.RequestLogHook = func(retryablehttp.Logger, *http.Request, int) { attempts++ }
		for shed := 0; shed < 20; {
			response, err := client.Get("http://backend.example/")
			switch {
			case err == nil:
				t.Fatalf("got %s want an error", response.Status)
			case errors.Is(err, throttle.ErrShed):
				shed++
			}
		}
		c := countsOf(throttle.Must(transport.Group().Get("backend.example")))
		if c.shed != 20 || attempts != c.rejected+20 {
			t.Errorf("%d attempts: the throttle counted %+v want 20 shed", attempts, c)
		}
	})
}
