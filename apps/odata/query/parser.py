"""The parser of $filter and $orderby expressions (OData 4.01, URL Conventions 5.1.1)."""

import difflib

from apps.odata.query import ast
from apps.odata.query.ast import Expression
from apps.odata.query.lexer import IN_ADDRESS, IN_BODY, MAX_ALL_OPTIONS, Lexer, QueryLimits, Token

#: Levels of parentheses and calls in the text.
MAX_DEPTH = 40
#: Levels of operators and functions in the tree; a chain of ``and`` is one level. SQLite's parser holds 100
#: open symbols, of which one level can take five and a subquery ten.
MAX_LEVELS = 12
#: Operators, functions and names of one expression; enough for a chain of 300 comparisons.
MAX_NODES = 650
#: Conditions of one ``case``.
MAX_BRANCHES = 32
#: Levels of any and all: each multiplies the work of the database.
MAX_QUANTIFIERS = 3
#: Segments of one path.
MAX_SEGMENTS = 20

#: Precedence of each operator; a greater one binds closer.
_PRECEDENCE = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("eq", "ne"), 3),
    **dict.fromkeys(("gt", "ge", "lt", "le"), 4),
    **dict.fromkeys(("add", "sub"), 5),
    **dict.fromkeys(("mul", "div", "divby", "mod"), 6),
    **dict.fromkeys(("has", "in"), 8),
}
_UNARY_PRECEDENCE = 7

#: The functions, with the numbers of their arguments.
FUNCTIONS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("now", "mindatetime", "maxdatetime"), (0,)),
    **dict.fromkeys(("length", "tolower", "toupper", "trim", "round", "floor", "ceiling"), (1,)),
    **dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "date", "time"), (1,)),
    **dict.fromkeys(("fractionalseconds", "totaloffsetminutes", "totalseconds"), (1,)),
    **dict.fromkeys(("contains", "startswith", "endswith", "indexof", "concat"), (2,)),
    "substring": (2, 3),
    "case": tuple(range(2, 2 * MAX_BRANCHES + 1, 2)),
}
#: Functions of OData 4.01 that this service does not have, with the reason.
UNSUPPORTED_FUNCTIONS = {
    **dict.fromkeys(("cast", "isof", "geo.distance", "geo.length", "geo.intersects"), ""),
    "matchespattern": ": its databases read patterns differently, and some patterns take hours. There are"
    " contains, startswith, endswith, indexof and substring",
}
#: Functions of OData 4.01 and of others that are refused, with what does the same.
REFUSED_FUNCTIONS = {
    **dict.fromkeys(("hassubset", "hassubsequence"), "any and all look into lists"),
    "isdefined": "ne null is offered",
    "isnull": "eq null is offered",
    "substringof": "contains(Name,'text') is offered",
    **dict.fromkeys(("any", "all"), "List/any(item:item/Name eq 'text') looks into a list"),
    **dict.fromkeys(("sum", "avg", "average", "min", "max"), "$apply has aggregate(Amount with sum as Sum)"),
}


def parse_expression(text: str, target: str = "$filter", limits: QueryLimits = IN_ADDRESS) -> Expression:
    """The tree of one expression.

    ``target`` names the option in errors. ``BadQuery`` for a text that is no expression, or that is too long,
    too deep or too large; ``NotSupported`` for functions and types of OData that this service does not have.
    """
    parser = Parser(text, target, limits)
    tree = parser.expression()
    parser.finish(tree)
    return tree


def parse_orderby(text: str, target: str = "$orderby") -> tuple[ast.SortTerm, ...]:
    """The terms of an $orderby; raises as ``parse_expression`` does."""
    parser = Parser(text, target)
    terms = [parser.sort_term()]
    while parser.accept(","):
        terms.append(parser.sort_term())
    parser.finish(*(term.expression for term in terms))
    return tuple(terms)


class Parser(Lexer):
    """Precedence climbing, one token ahead."""

    depth = 0
    number_of_options = 0
    variables: tuple[str, ...] = ()

    def finish(self, *trees: Expression) -> None:
        """Check that the text ends here, and the size of its trees.

        Chains like ``1 add 1 add 1`` make deep trees without any parentheses.
        """
        if self.token.kind != "end":
            self.fail(f"{self.token_name()} is not expected here{self.hint(self.token.at)}")
        nodes = 0
        for tree in trees:
            for node, level in ast.walk(tree):
                nodes += not isinstance(node, ast.Literal | ast.Alias)
                if isinstance(node, ast.Junction):  # `true and true` is no value in a list
                    nodes += sum(isinstance(operand, ast.Literal | ast.Alias) for operand in node.operands)
                if level > MAX_LEVELS:
                    self.fail(f"operators stand inside each other more than {MAX_LEVELS} deep", node.at)
        if nodes > MAX_NODES:
            self.fail(f"the expression has more than {MAX_NODES} operators, functions and names", 0)

    # --- expressions ----------------------------------------------------------------------------------

    def expression(self, minimum: int = 1) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"the expression is nested deeper than {MAX_DEPTH} levels")
        left = self.operand()
        while True:
            operator = self.operator()
            precedence = _PRECEDENCE.get(operator, 0)
            if precedence < minimum:
                break
            at = self.advance().at
            if not (
                self.token.spaced or self.token.kind == "end" or (operator, self.token.text) == ("in", "(")
            ):
                self.fail(f"white space is expected after {operator!r}")
            left = self.operation(operator, left, precedence, at)
        self.depth -= 1
        return left

    def operator(self) -> str:
        """The next token in lower case when it is an operator, else empty."""
        if self.token.kind != "name":
            return ""
        word = self.token.text.lower()
        if word not in _PRECEDENCE:
            return ""
        if not self.token.spaced:
            self.fail(f"white space is expected before {word!r}")
        return word

    def operation(self, operator: str, left: Expression, precedence: int, at: int) -> Expression:
        if operator == "in":
            return ast.In(at, left, self.options())
        right = self.expression(precedence + 1)
        if operator not in ("and", "or"):
            return ast.Binary(at, operator, left, right)
        if isinstance(left, ast.Junction) and left.operator == operator:
            return ast.Junction(left.at, operator, (*left.operands, right))
        return ast.Junction(at, operator, (left, right))

    def options(self) -> tuple[ast.Literal | ast.Alias | ast.Path, ...]:
        start, end = self.token.at, self.end
        self.end = len(self.text)
        self.expect("(")
        options: list[ast.Literal | ast.Alias | ast.Path] = []
        while options or self.token.text != ")":
            option = self.primary()
            if not isinstance(option, ast.Literal | ast.Alias | ast.Path):
                self.fail("a list holds values only", option.at)
            options.append(option)
            self.check_number_of_options(len(options), option.at)
            if not self.accept(","):
                break
        self.end = end + self.token.at - start
        self.expect(")")
        return tuple(options)

    def check_number_of_options(self, number: int, at: int) -> None:
        self.number_of_options += 1
        if number > self.limits.options:
            hint = f", and {IN_BODY.options:,} in the body of $query" if self.limits is IN_ADDRESS else ""
            self.fail(f"a list holds at most {self.limits.options:,} values{hint}", at)
        if self.number_of_options > MAX_ALL_OPTIONS:
            self.fail(f"all lists together hold at most {MAX_ALL_OPTIONS:,} values", at)

    def operand(self) -> Expression:
        token = self.token
        if token.kind == "name" and token.text.lower() == "not":
            return self.negation()
        if token.kind == "mark" and token.text == "-":
            self.advance()
            return ast.Negate(token.at, self.expression(_UNARY_PRECEDENCE))
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        return self.primary()

    def negation(self) -> Expression:
        token = self.advance()
        if self.token.text == "/" or self.token.kind == "end":
            self.fail(f"a condition is expected after {token.text!r}")
        if not self.token.spaced and self.token.text != "(":
            self.fail(f"white space is expected after {token.text!r}")
        return ast.Not(token.at, self.expression(_UNARY_PRECEDENCE))

    def primary(self) -> Expression:
        token = self.token
        if token.kind in ("mark", "end"):
            self.fail(f"a name or a value is expected before {self.token_name()}")
        self.advance()
        if token.kind == "alias":
            return ast.Alias(token.at, token.text)
        if token.kind == "dollar":
            return self.path_from_record(token)
        if token.kind != "name":
            return self.literal(token)
        if token.text.lower() in _WORDS and self.token.text != "/":
            return ast.Literal(token.at, *_WORDS[token.text.lower()])
        if self.token.text == "(":
            return self.call(token)
        return self.path(token)

    def path_from_record(self, token: Token) -> Expression:
        name = token.text.lower()
        if name not in ("$it", "$this"):
            self.fail(
                f"{token.text[:40]!r} cannot stand here; a path begins with a name, $it or $this", token.at
            )
        if self.token.text != "/":
            self.fail(f"a name is expected after {name!r}, such as {name}/Name", token.at)
        return self.path(token._replace(text=name))

    def call(self, token: Token) -> Expression:
        function = token.text.lower()
        if function in UNSUPPORTED_FUNCTIONS:
            self.fail_unsupported(f"The function {token.text}", UNSUPPORTED_FUNCTIONS[function])
        if function in REFUSED_FUNCTIONS:
            self.fail(f"the function {token.text} is not offered; {REFUSED_FUNCTIONS[function]}", token.at)
        if function not in FUNCTIONS:
            close = difflib.get_close_matches(function, FUNCTIONS, n=1)
            hint = f" (is {close[0]} meant?)" if close else ""
            self.fail(f"there is no function {token.text}{hint}", token.at)
        arguments = self.branches() if function == "case" else self.arguments()
        if len(arguments) not in FUNCTIONS[function]:
            numbers = " or ".join(map(str, FUNCTIONS[function]))
            self.fail(f"{function} takes {numbers} arguments, {len(arguments)} are given", token.at)
        return ast.Call(token.at, function, tuple(arguments))

    def arguments(self) -> list[Expression]:
        self.expect("(")
        arguments: list[Expression] = []
        if not self.accept(")"):
            arguments.append(self.expression())
            while self.accept(","):
                arguments.append(self.expression())
            self.expect(")")
        return arguments

    def branches(self) -> list[Expression]:
        """``(Total gt 100:'large',true:'small')``: conditions, each before its value."""
        self.expect("(")
        arguments: list[Expression] = []
        while True:
            arguments.append(self.expression())
            if self.token.text != ":":
                self.fail(f"a colon and a value are expected before {self.token_name()}")
            self.expect(":")
            arguments.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")")
        return arguments

    # --- paths ----------------------------------------------------------------------------------------

    def path(self, first: Token) -> Expression:
        segments = [first.text]
        while self.accept("/"):
            token = self.advance()
            if token.kind == "dollar":
                return self.count(ast.Path(first.at, tuple(segments)), token)
            if token.kind != "name":
                self.fail("a name is expected after '/'", token.at)
            if self.token.text == "(":
                return self.quantified(ast.Path(first.at, tuple(segments)), token)
            segments.append(token.text)
            if len(segments) > MAX_SEGMENTS:
                self.fail(f"a path has at most {MAX_SEGMENTS} segments", first.at)
        return ast.Path(first.at, tuple(segments))

    def count(self, path: ast.Path, token: Token) -> Expression:
        if token.text.lower() != "$count":
            self.fail(f"{token.text[:40]!r} cannot stand in a path; $count can, behind a list", token.at)
        if not self.accept("("):
            return ast.Count(path.at, path)
        option = self.advance().text.lower()
        if option not in ("$filter", "filter"):
            self.fail("$count takes a $filter only", token.at)
        self.expect("=")
        condition = self.expression()
        self.expect(")")
        return ast.Count(path.at, path, condition)

    def quantified(self, path: ast.Path, token: Token) -> Expression:
        quantifier = token.text.lower()
        if quantifier not in ("any", "all"):
            self.fail(f"any or all is expected instead of {token.text!r}", token.at)
        self.expect("(")
        if quantifier == "any" and self.accept(")"):
            return ast.Lambda(path.at, quantifier, path, None, None)
        variable = self.variable()
        self.variables += (variable,)
        if len(self.variables) > MAX_QUANTIFIERS:
            self.fail(f"any and all stand inside each other at most {MAX_QUANTIFIERS} deep", token.at)
        body = self.expression()
        self.variables = self.variables[:-1]
        self.expect(")")
        return ast.Lambda(path.at, quantifier, path, variable, body)

    def variable(self) -> str:
        token = self.advance()
        if token.kind != "name" or "." in token.text:
            self.fail("a variable and a colon are expected, as in any(item:item/Name eq 'x')", token.at)
        if token.text in self.variables:
            self.fail(f"the variable {token.text} is in use already", token.at)
        self.expect(":")
        return token.text

    # --- $orderby -------------------------------------------------------------------------------------

    def sort_term(self) -> ast.SortTerm:
        expression = self.expression()
        direction = self.token.text.lower() if self.token.kind == "name" and self.token.spaced else ""
        if direction not in ("asc", "desc"):
            return ast.SortTerm(expression)
        self.advance()
        return ast.SortTerm(expression, direction == "desc")


_WORDS: dict[str, tuple[ast.ValueKind, bool | None]] = {
    "null": (ast.ValueKind.NULL, None),
    "true": (ast.ValueKind.BOOLEAN, True),
    "false": (ast.ValueKind.BOOLEAN, False),
}
