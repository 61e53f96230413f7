module github.com/spillway-go/spillway/internal/integration

go 1.26.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.22.1
	github.com/spillway-go/spillway v0.0.0
)

require (
	github.com/deixis/faults v1.0.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
)

replace (
	github.com/deixis/faults => ../third_party/faults
	github.com/spillway-go/spillway => ../..
)
