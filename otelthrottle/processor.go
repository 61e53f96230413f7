package otelthrottle

import (
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spillway-go/spillway/otelthrottle/semconv"
	"github.com/spillway-go/spillway/throttle"
)

// processorInstruments are the metrics of how long the requests of this process wait for a processor.
type processorInstruments struct {
	wait        metric.Float64ObservableGauge
	aim         metric.Float64ObservableGauge
	runnable    metric.Float64ObservableGauge
	share       metric.Float64ObservableGauge
	probability metric.Float64ObservableGauge
}

func newProcessorInstruments(meter metric.Meter) (processorInstruments, error) {
	var i processorInstruments
	var errs [5]error
	i.wait, errs[0] = meter.Float64ObservableGauge(semconv.MetricProcessorWait, metric.WithUnit(unitSecond),
		metric.WithDescription("How long a goroutine of this process waits for a processor."))
	i.aim, errs[1] = meter.Float64ObservableGauge(semconv.MetricProcessorAim, metric.WithUnit(unitSecond),
		metric.WithDescription("The wait above which calls to this process are shed."))
	i.runnable, errs[2] = meter.Float64ObservableGauge(semconv.MetricProcessorRunnable, metric.WithUnit(unitGoroutine),
		metric.WithDescription("Goroutines that wait for a processor, per processor."))
	i.share, errs[3] = meter.Float64ObservableGauge(semconv.MetricProcessorShare, metric.WithUnit(unitRatio),
		metric.WithDescription("Share of the calls to this process that is shed because they wait for a processor."))
	i.probability, errs[4] = meter.Float64ObservableGauge(semconv.MetricProcessorProbability, metric.WithUnit(unitRatio),
		metric.WithDescription("Probability that a call to this process is shed because calls wait for a processor."))
	return i, errors.Join(errs[:]...)
}

func (i *processorInstruments) observed() []metric.Observable {
	return []metric.Observable{i.wait, i.aim, i.runnable, i.share, i.probability}
}

// processorOptions are the attributes of the series of the process. It has no throttle.name.
type processorOptions struct {
	process    []metric.ObserveOption
	priorities [throttle.StandardPriorities][]metric.ObserveOption
}

func newProcessorOptions(common []attribute.KeyValue) *processorOptions {
	options := func(more ...attribute.KeyValue) []metric.ObserveOption {
		return []metric.ObserveOption{metric.WithAttributeSet(attribute.NewSet(slices.Concat(common, more)...))}
	}
	o := &processorOptions{process: options()}
	for p := range o.priorities {
		o.priorities[p] = options(semconv.KeyPriority.String(throttle.Priority(p).String()))
	}
	return o
}

// report reports the state of the process, from the first call on that it serves.
func (i *processorInstruments) report(to metric.Observer, o *processorOptions, s throttle.ProcessorStats) {
	if s.Processors == 0 {
		return
	}
	to.ObserveFloat64(i.wait, s.Wait.Seconds(), o.process...)
	to.ObserveFloat64(i.aim, s.Aim.Seconds(), o.process...)
	to.ObserveFloat64(i.runnable, float64(s.Runnable)/float64(s.Processors), o.process...)
	to.ObserveFloat64(i.share, s.Share, o.process...)
	for p := range o.priorities {
		to.ObserveFloat64(i.probability, s.Probabilities[p], o.priorities[p]...)
	}
}
