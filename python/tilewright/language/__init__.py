"""Layer I as Python says it: types, expressions, reductions, inputs and computations."""
