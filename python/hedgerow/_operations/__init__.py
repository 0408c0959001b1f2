"""Operations: each is a request, a result and a row of a table, from which every face is made.

`fields` describes the fields of requests and results, `shapes` checks and converts their values,
`schema` describes them as JSON Schema, `operation` makes the methods of classes.
"""
