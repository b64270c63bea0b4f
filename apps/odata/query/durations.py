"""Arithmetic with dates, times and durations (``now() sub duration'P30D'``), the same on both engines.

A duration is its number of seconds in SQL. A day of it has 24 hours, whatever clocks do.
"""

import datetime as dt

from apps.base import clock
from apps.odata.query import functions as sql
from apps.odata.query.ast import NUMBERS, ValueKind
from apps.odata.query.functions import Constant
from apps.odata.query.lexer import read_duration
from apps.odata.query.operands import KnownValue, Operand
from apps.odata.query.paths import PathBinder

POINTS_IN_TIME = (ValueKind.DATE, ValueKind.DATETIME)
TIMES = (*POINTS_IN_TIME, ValueKind.DURATION)


class DurationBinder(PathBinder):
    """Binds operations of which an operand is a point in time or a duration."""

    def time_arithmetic(
        self, operator: str, left: Operand | KnownValue, right: Operand | KnownValue
    ) -> Operand | KnownValue:
        left, right = self.duration_beside(left, right), self.duration_beside(right, left)
        kinds = (left.kind, right.kind)
        match operator, left.kind, right.kind:
            case "add" | "sub", kind, ValueKind.DURATION if kind in POINTS_IN_TIME:
                return self.move(left, right, is_back=operator == "sub")
            case "add", ValueKind.DURATION, kind if kind in POINTS_IN_TIME:
                return self.move(right, left)
            case "sub", kind, other if kind is other in POINTS_IN_TIME:
                return self.difference(left, right)
            case "add" | "sub", ValueKind.DURATION, ValueKind.DURATION:
                return self.seconds_of(operator, left, right)
            case "mul", ValueKind.DURATION, number if number in NUMBERS:
                return self.seconds_of(operator, left, right)
            case "mul", number, ValueKind.DURATION if number in NUMBERS:
                return self.seconds_of(operator, left, right)
            case "div" | "divby", ValueKind.DURATION, number if number in NUMBERS:
                return self.seconds_of("divby", left, right)
        hint = (
            " Days are a duration: duration'P30D'."
            if right.kind in NUMBERS and operator in ("add", "sub")
            else ""
        )
        self.fail(
            f"{operator} cannot stand between {left.name}, which is {kinds[0].value},"
            f" and {right.name}, which is {kinds[1].value}.{hint}"
        )

    def duration_beside(
        self, value: Operand | KnownValue, other: Operand | KnownValue
    ) -> Operand | KnownValue:
        """A value beside a point in time or a duration: a text may be a duration, and null is one."""
        if value.kind is ValueKind.NULL:
            return self.constant(KnownValue(ValueKind.DURATION, None))
        if isinstance(value, KnownValue) and isinstance(value.value, str) and other.kind in POINTS_IN_TIME:
            try:
                return KnownValue(ValueKind.DURATION, read_duration(value.value))
            except ValueError:
                self.fail(f"{value.name} is no duration, such as duration'P30D'.")
        return value

    def move(
        self, point: Operand | KnownValue, duration: Operand | KnownValue, is_back: bool = False
    ) -> Operand | KnownValue:
        """The point in time so much later; null beyond the calendar."""
        if isinstance(point, KnownValue) and isinstance(duration, KnownValue):
            return self.move_known(point, -duration.value if is_back else duration.value)
        start, length = self.in_sql(point), self.in_sql(duration)
        seconds = sql.NEGATIVE[ValueKind.DECIMAL](length.sql) if is_back else length.sql
        limits = (dt.date.min, dt.date.max) if start.kind is ValueKind.DATE else clock.ends_of_time(self.zone)
        least, most = (Constant(start.kind, limit) for limit in limits)
        moved = sql.MOVED[start.kind](start.sql, seconds, least, most)
        return Operand(start.kind, moved, True, f"the {'sub' if is_back else 'add'}")

    def move_known(self, point: KnownValue, length: dt.timedelta) -> KnownValue:
        value = self.to_utc(point.value) if isinstance(point.value, dt.datetime) else point.value
        try:
            # Of a date whole days, as of its midnight: an hour before is the day before.
            return KnownValue(point.kind, value + length)
        except OverflowError:
            self.fail(f"{point.name} with {length} is beyond the calendar.", code="OutOfRange")

    def difference(self, left: Operand | KnownValue, right: Operand | KnownValue) -> Operand | KnownValue:
        if isinstance(left, KnownValue) and isinstance(right, KnownValue):
            points = [self.to_utc(v) if isinstance(v, dt.datetime) else v for v in (left.value, right.value)]
            return KnownValue(ValueKind.DURATION, points[0] - points[1])
        one, other = self.in_sql(left), self.in_sql(right)
        between = sql.DIFFERENCE[one.kind](one.sql, other.sql)
        return Operand(ValueKind.DURATION, between, one.nullable or other.nullable, "the sub")

    def seconds_of(self, operator: str, left: Operand | KnownValue, right: Operand | KnownValue) -> Operand:
        """A duration that is computed of its seconds."""
        one, other = self.in_sql(left), self.in_sql(right)
        value = sql.ARITHMETIC[operator][ValueKind.DECIMAL](one.sql, other.sql)
        nullable = one.nullable or other.nullable or operator == "divby"
        return Operand(ValueKind.DURATION, value, nullable, f"the {operator}")

    def in_sql(self, value: Operand | KnownValue) -> Operand:
        return self.constant(value) if isinstance(value, KnownValue) else value
