"""Exercises, graded answers, the table of a class."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import attend
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "exercise"
TEXT = """
given x = random 1 x 3 from -3 to 3
require x nonzero
y = 2 * x
z = sum(y)
ask y "twice x" points 3
hint "two times each element"
ask z "its sum" points 2
"""


@pytest.fixture(scope="module")
def exercise() -> attend.Exercise:
    return attend.Exercise(FOLDER / "attention.att")


def test_variants_differ_by_name_alone() -> None:
    exercise = attend.Exercise(TEXT)
    ada, alan = exercise.questions("ada"), exercise.questions("alan")
    assert ada == attend.Exercise(TEXT).questions("ada") != alan
    assert "twice x" in ada and "its sum" in exercise.solution("ada")
    assert "<html" in exercise.questions("ada", format="html")
    assert json.loads(exercise.solution("ada", format="json"))
    assert repr(exercise) == "Exercise('exercise')" and "iframe" in exercise._repr_html_()


def test_hand_ins_of_the_example_earn_what_the_guide_says(exercise: attend.Exercise) -> None:
    graded = [exercise.grade(path) for path in sorted((FOLDER / "answers").glob("*.txt"))]
    found = {grading.student: grading.points for grading in graded}
    assert found == {"ada": 8, "alan": 7, "grace": 5}
    assert all(grading.max_points == 8 and grading.problem is None for grading in graded)
    text = (FOLDER / "answers" / "alan.txt").read_text()
    again = exercise.grade(text, student="alan")
    assert again.points == 7 and again.render("json") == graded[1].render("json")
    table = attend.grade_table(graded)
    assert "no-scale" in table and "alan" in attend.grade_table(graded, "csv")
    assert "<table" in attend.grade_table(graded, "html")


def test_pages_say_as_much_as_asked_for(exercise: attend.Exercise) -> None:
    grading = exercise.grade(FOLDER / "answers" / "alan.txt")
    explained, checked = grading.render(), grading.render(detail="check")
    assert explained != checked and str(grading) == explained
    assert repr(grading) == "Grading('alan', 7 of 8 points)" and "iframe" in grading._repr_html_()
    assert json.loads(grading.gradescope())["score"] == 7 and grading.json()


def test_answers_that_cannot_be_read_earn_nothing_and_say_why(tmp_path: pathlib.Path) -> None:
    exercise = attend.Exercise(TEXT)
    grading = exercise.grade(b"\xff\xfe\x00", student="eve")
    assert grading.points == 0 and grading.problem
    with pytest.raises(FileNotFoundError):
        exercise.grade(tmp_path / "missing.txt")


def test_bad_exercises_have_their_place() -> None:
    with pytest.raises(attend.Error) as caught:
        attend.Exercise("x = [1\nask x\n", name="sums")
    assert caught.value.file == "sums" and caught.value.line > 0
    with pytest.raises(FileNotFoundError):
        attend.Exercise("missing.att")
    wrong: Any = "all"
    with pytest.raises(attend.Error, match='detail: expected one of "explain"'):
        attend.Exercise(TEXT).grade("y = 1").render(detail=wrong)
