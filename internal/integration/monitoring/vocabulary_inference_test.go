package monitoring

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// infer returns the labels that the result of an expression may have, and what is wrong within it.
func (v *vocabulary) infer(node parser.Expr) (has set, wrong []string) {
	switch e := node.(type) {
	case *parser.VectorSelector:
		if has = v.labelsSelected(e); has == nil {
			has = set{}
		}
		return has, v.checkSelector(e)
	case *parser.MatrixSelector:
		return v.infer(e.VectorSelector)
	case *parser.SubqueryExpr:
		return v.infer(e.Expr)
	case *parser.ParenExpr:
		return v.infer(e.Expr)
	case *parser.UnaryExpr:
		return v.infer(e.Expr)
	case *parser.StepInvariantExpr:
		return v.infer(e.Expr)
	case *parser.AggregateExpr:
		return v.inferAggregate(e)
	case *parser.BinaryExpr:
		return v.inferBinary(e)
	case *parser.Call:
		return v.inferCall(e)
	case *parser.NumberLiteral, *parser.StringLiteral:
		return set{}, nil
	}
	return set{}, []string{fmt.Sprintf("these tests do not know what %s, a %T, is", node, node)}
}

// lacks returns a complaint for each label that is asked for in vain.
func texts(has set, wanted []string, of parser.Expr) []string {
	var wrong []string
	for _, name := range wanted {
		if !has[name] {
			wrong = append(wrong, fmt.Sprintf("no label %s in %s", name, of))
		}
	}
	return wrong
}

// both returns the labels that are asked for and there.
func both(has set, wanted []string) set {
	kept := set{}
	for _, name := range wanted {
		if has[name] {
			kept[name] = true
		}
	}
	return kept
}

func (v *vocabulary) inferAggregate(e *parser.AggregateExpr) (set, []string) {
	inner, wrong := v.infer(e.Expr)
	wrong = append(wrong, texts(inner, e.Grouping, e.Expr)...)
	switch {
	case e.Op == parser.TOPK || e.Op == parser.BOTTOMK:
		return inner, wrong
	case e.Without:
		for _, name := range e.Grouping {
			delete(inner, name)
		}
		return inner, wrong
	}
	has := both(inner, e.Grouping)
	if name, ok := e.Param.(*parser.StringLiteral); ok && e.Op == parser.COUNT_VALUES {
		has[name.Val] = true
	}
	return has, wrong
}

func (v *vocabulary) inferBinary(e *parser.BinaryExpr) (set, []string) {
	left, wrong := v.infer(e.LHS)
	right, wrongToo := v.infer(e.RHS)
	wrong = append(wrong, wrongToo...)
	matching := e.VectorMatching
	if matching == nil || e.LHS.Type() == parser.ValueTypeScalar || e.RHS.Type() == parser.ValueTypeScalar {
		maps.Copy(left, right) // one of which has none
		return left, wrong
	}
	either := maps.Clone(left)
	maps.Copy(either, right)
	for side, has := range map[parser.Expr]set{e.LHS: left, e.RHS: right} {
		if !matching.On { // one side may lack what is ignored
			has = either
		}
		wrong = append(wrong, texts(has, matching.MatchingLabels, side)...)
	}
	switch {
	case e.Op == parser.LOR:
		maps.Copy(left, right)
		return left, wrong
	case e.Op.IsSetOperator():
		return left, wrong
	}
	return inferMatch(matching, left, right), wrong
}

// inferMatch returns the labels of what is calculated of two series.
func inferMatch(matching *parser.VectorMatching, left, right set) set {
	switch matching.Card {
	case parser.CardManyToOne:
		maps.Copy(left, setOf(matching.Include...))
		return left
	case parser.CardOneToMany:
		maps.Copy(right, setOf(matching.Include...))
		return right
	}
	if matching.On {
		return both(left, matching.MatchingLabels)
	}
	maps.DeleteFunc(left, func(name string, _ bool) bool { return slices.Contains(matching.MatchingLabels, name) })
	return left
}

// inferCall returns the labels of what a function makes: those of its argument, but for the few that make their own.
func (v *vocabulary) inferCall(e *parser.Call) (set, []string) {
	has, wrong := set{}, []string(nil)
	for _, arg := range e.Args {
		of, wrongToo := v.infer(arg)
		wrong = append(wrong, wrongToo...)
		maps.Copy(has, of)
	}
	switch e.Func.Name {
	case "histogram_quantile":
		if !has["le"] && !v.native(e.Args[1]) {
			wrong = append(wrong, fmt.Sprintf("no label le in %s", e.Args[1]))
		}
		delete(has, "le")
	case "label_replace", "label_join":
		has[e.Args[1].(*parser.StringLiteral).Val] = true
	case "vector", "scalar", "time":
		return set{}, wrong
	case "absent", "absent_over_time":
		return namedByAbsence(e.Args[0]), wrong
	}
	return has, wrong
}

// native reports whether the series of an expression are native histograms, whose buckets have no series.
func (v *vocabulary) native(of parser.Expr) bool {
	all := selectors(of)
	return len(all) > 0 && !slices.ContainsFunc(all, func(s *parser.VectorSelector) bool { return v.labels[s.Name+"_bucket"] == nil })
}

// namedByAbsence returns the labels that absent knows: those that were asked for by their value.
func namedByAbsence(of parser.Expr) set {
	has := set{}
	for _, s := range selectors(of) {
		for _, m := range s.LabelMatchers {
			if m.Type == labels.MatchEqual && m.Name != model.MetricNameLabel {
				has[m.Name] = true
			}
		}
	}
	return has
}
