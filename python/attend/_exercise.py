"""Exercises and grading."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

from attend import _core
from attend._frame import frame

Format = Literal["text", "markdown", "latex", "html", "json"]
Detail = Literal["explain", "check", "reveal"]


class Grading:
    """The graded answers of one student (docs/teaching.md).

    In a notebook it shows itself as the student's page; `str()` is the page as text.

    >>> exercise = attend.Exercise("given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n")
    >>> grading = exercise.grade("y = [2 4]", student="ada")
    >>> grading.points, grading.max_points, grading.problem
    (3.0, 3.0, None)
    """

    student: str
    points: float
    max_points: float
    problem: str | None

    def __init__(self, handle: Any, student: str) -> None:
        self._handle = handle
        self.student = student
        self.points, self.max_points, self.problem = _core.grading_facts(handle)

    def render(self, format: Format = "text", *, detail: Detail = "explain") -> str:
        """The student's page: "explain" names slips and hints, "check" only right or wrong,
        "reveal" also the right numbers. As text, Markdown, HTML or JSON.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> grading = exercise.grade("y = [2 4]", student="ada")
        >>> grading.render() != grading.render("html")
        True
        """
        return _core.grading_render(self._handle, detail, {"format": format})

    def json(self, *, detail: Detail = "explain") -> Any:
        """The page as Python values.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> grading = exercise.grade("y = [2 4]", student="ada")
        >>> isinstance(grading.json(), dict)
        True
        """
        return json.loads(self.render("json", detail=detail))

    def gradescope(self, *, detail: Detail = "explain") -> str:
        """The results.json of Gradescope.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> grading = exercise.grade("y = [2 4]", student="ada")
        >>> grading.gradescope().startswith("{")
        True
        """
        return _core.grading_render(self._handle, detail, None)

    def _repr_html_(self) -> str:
        return frame(self.render("html"))

    def __str__(self) -> str:
        return self.render()

    def __repr__(self) -> str:
        return f"Grading({self.student!r}, {self.points:g} of {self.max_points:g} points)"


class Exercise:
    """A worksheet with `ask` lines, which has another variant for each student (docs/teaching.md).

    `source` is the text of a sheet, or the path of one: an os.PathLike, or a str that ends in
    ".att". A text may load files in `folder`, or none without it.

    >>> exercise = attend.Exercise('''
    ... given x = random 1 x 3 from -3 to 3
    ... y = 2 * x
    ... ask y "twice x" points 3
    ... ''')
    >>> exercise.questions("ada") == exercise.questions("ada") != exercise.questions("alan")
    True
    >>> exercise.grade("y = [100 0 0]", student="ada").points
    0.0
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        *,
        name: str = "exercise",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(source, str) or (source.endswith(".att") and "\n" not in source):
            self.name = os.fspath(source)
            os.stat(self.name)  # FileNotFoundError and its like, as open() raises them
            self._handle = _core.exercise_load(self.name)
        else:
            self.name = name
            self._handle = _core.exercise_read(source, name, folder)

    def questions(self, variant: str = "explain", *, format: Format = "text") -> str:
        """The question paper of a variant, which is named by its student.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> "twice x" in exercise.questions("ada")
        True
        """
        return _core.exercise_render(self._handle, variant, False, {"format": format})

    def solution(self, variant: str = "explain", *, format: Format = "text") -> str:
        """The solution of a variant, every step worked out.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> exercise.solution("ada") != exercise.questions("ada")
        True
        """
        return _core.exercise_render(self._handle, variant, True, {"format": format})

    def grade(
        self,
        answers: str | bytes | os.PathLike[str],
        *,
        student: str | None = None,
        variant: str | None = None,
    ) -> Grading:
        """Grades what a student handed in: the text or bytes of the answers (text, .npz or a
        notebook, of which nothing is run), or the path of a file (an os.PathLike).

        The variant is named by the student, and a student by the file, unless they are given.

        >>> text = "given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n"
        >>> exercise = attend.Exercise(text)
        >>> exercise.grade("y = [2 5]", student="ada").points < 3
        True
        """
        if isinstance(answers, (str, bytes)):
            who = "student" if student is None else student
            data = answers.encode() if isinstance(answers, str) else answers
            handle = _core.exercise_grade(
                self._handle, who, who if variant is None else variant, data, who
            )
        else:
            path = os.fspath(answers)
            os.stat(path)
            who = os.path.splitext(os.path.basename(path))[0] if student is None else student
            handle = _core.exercise_grade_file(
                self._handle, who, who if variant is None else variant, path
            )
        return Grading(handle, who)

    def _repr_html_(self) -> str:
        return frame(self.questions(format="html"))

    def __repr__(self) -> str:
        return f"Exercise({self.name!r})"


def grade_table(
    gradings: Sequence[Grading], format: Literal["text", "markdown", "html", "json", "csv"] = "text"
) -> str:
    """The table of a class for the teacher: points, results of each step, slips.

    >>> exercise = attend.Exercise("given x = [1 2]\\ny = 2 * x\\nask y \\"twice x\\" points 3\\n")
    >>> class_ = [exercise.grade("y = [2 4]", student="ada"), exercise.grade("", student="alan")]
    >>> "ada" in attend.grade_table(class_) and "alan" in attend.grade_table(class_, "csv")
    True
    """
    handles = tuple(grading._handle for grading in gradings)
    return _core.gradings_render(handles, None if format == "csv" else {"format": format})
